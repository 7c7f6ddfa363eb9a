// See audited_change.hpp.
#include "cli/commands/audited_change.hpp"

#include <array>
#include <optional>

#include <pwd.h>
#include <unistd.h>

#include "sql/circuit.hpp"

namespace dogged::cli {

std::string user_at_host() {
  const passwd* user = getpwuid(geteuid());
  std::array<char, 256> host{};
  if (gethostname(host.data(), host.size() - 1) != 0) host[0] = '?';
  return (user == nullptr ? std::to_string(geteuid()) : std::string{user->pw_name}) + "@" + host.data();
}

void set_actor(db::Connection& connection) { connection.run(sql::SetActor{.actor = user_at_host()}); }

db::Rows run_audited(db::Connection& connection, const db::Statement& statement, const db::Params& params) {
  std::optional<db::Rows> rows;
  connection.transaction([&] {
    set_actor(connection);
    rows = connection.run(statement, params);
  });
  return *std::move(rows);
}

}  // namespace dogged::cli
