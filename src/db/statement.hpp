// A named SQL statement, made from src/sql/FOLDER/NAME.sql or cli/sql/FOLDER/NAME.sql at build time. Logs and errors
// name it.
#pragma once

#include <string_view>

namespace dogged::db {

/// The text calls the schema `dogged.`; a connection replaces that by the name of its own schema (see with_schema).
struct Statement {
  std::string_view name;
  std::string_view text;
};

}  // namespace dogged::db
