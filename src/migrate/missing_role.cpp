// See missing_role.hpp.
#include "migrate/missing_role.hpp"

#include "db/errors.hpp"
#include "sql/migrate.hpp"

namespace dogged::migrate {

bool is_missing_right(const Error& error) {
  const auto* from_server = dynamic_cast<const DatabaseError*>(&error);
  return from_server != nullptr && from_server->sqlstate() == db::insufficient_privilege;
}

std::optional<std::string> hint_for_missing_role(db::Connection& connection, const std::string& object) {
  try {
    const db::Rows rows = connection.run(sql::who_may, db::Params{}.add(object));
    const db::Row row = rows.one();
    const std::string login{row.text("login")};
    if (row.boolean("is_owners_alone")) {
      return "only the owner of the schema may do this: run it as " + std::string{row.text("owner")} + ", not as " +
             login;
    }
    if (row.is_null("roles")) return std::nullopt;
    const std::string roles{row.text("roles")};
    return login + " lacks the role " + roles + ", which may do this; an administrator gives it: grant " +
           roles.substr(0, roles.find(' ')) + " to " + login + ";";
  } catch (const Error&) {
    return std::nullopt;  // it may not even read that: the first error is shown
  }
}

}  // namespace dogged::migrate
