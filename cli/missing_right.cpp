// See missing_right.hpp.
#include "cli/missing_right.hpp"

#include <optional>
#include <string_view>

#include "db/errors.hpp"
#include "sql_statements.hpp"

namespace dogged::cli {
namespace {

/// `cancel` of `permission denied for function cancel (SQLSTATE 42501)`; empty where it is of another form.
std::string denied_object(std::string_view message) {
  for (const std::string_view words : {"permission denied for table ", "permission denied for view ",
                                       "permission denied for function ", "permission denied for sequence "}) {
    const auto found = message.find(words);
    if (found == std::string_view::npos) continue;
    const std::string_view rest = message.substr(found + words.size());
    return std::string{rest.substr(0, rest.find_first_of(" (\n"))};
  }
  return {};
}

std::optional<std::string> role_to_grant(const Invocation& invocation, const std::string& object) {
  try {
    db::Connection connection = invocation.connect_to_any_schema();
    const db::Rows rows = connection.run(sql::who_may, db::Params{}.add(object));
    if (rows.empty() || rows.one().is_null("roles")) return std::nullopt;
    const std::string roles{rows.one().text("roles")};
    const std::string login{rows.one().text("login")};
    return login + " lacks the role " + roles + ", which may do this; an administrator gives it: grant " +
           roles.substr(0, roles.find(' ')) + " to " + login + ";";
  } catch (const Error&) {
    return std::nullopt;  // it may not even look: the first error is the one to show
  }
}

}  // namespace

std::string hint_for(const Invocation& invocation, const Error& error) {
  const auto* from_server = dynamic_cast<const DatabaseError*>(&error);
  if (from_server == nullptr || from_server->sqlstate() != db::insufficient_privilege) return error.hint();
  const std::string object = denied_object(error.message());
  if (object.empty()) return error.hint();
  return role_to_grant(invocation, object).value_or(error.hint());
}

}  // namespace dogged::cli
