// See missing_role.hpp.
#include "migrate/missing_role.hpp"

#include "db/connection.hpp"
#include "db/errors.hpp"
#include "sql/migrate.hpp"

namespace dogged::migrate {

bool is_missing_right(const Error& error) {
  const auto* from_server = dynamic_cast<const DatabaseError*>(&error);
  return from_server != nullptr && from_server->sqlstate() == db::insufficient_privilege;
}

std::optional<std::string> hint_for_missing_role(db::Connection& connection, const std::string& object) {
  try {
    const auto [roles, login, is_owners_alone, owner] = db::one(connection.run(sql::WhoMay{.object = object}));
    if (is_owners_alone) {
      return "only the owner of the schema may do this: run it as " + owner + ", not as " + login;
    }
    if (!roles) return std::nullopt;
    return login + " lacks the role " + *roles + ", which may do this; an administrator gives it: grant " +
           roles->substr(0, roles->find(' ')) + " to " + login + ";";
  } catch (const Error&) {
    return std::nullopt;  // it may not even read that: the first error is shown
  }
}

}  // namespace dogged::migrate
