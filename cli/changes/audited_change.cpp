// See audited_change.hpp.
#include "cli/changes/audited_change.hpp"

#include <array>

#include <pwd.h>
#include <unistd.h>

#include "db/connection.hpp"
#include "sql/commands.hpp"

namespace dogged::cli {

std::string user_at_host() {
  const passwd* user = getpwuid(geteuid());
  std::array<char, 256> host{};
  if (gethostname(host.data(), host.size() - 1) != 0) host[0] = '?';
  return (user == nullptr ? std::to_string(geteuid()) : std::string{user->pw_name}) + "@" + host.data();
}

void set_actor(db::Connection& connection) { connection.run(sql::SetActor{.actor = user_at_host()}); }

}  // namespace dogged::cli
