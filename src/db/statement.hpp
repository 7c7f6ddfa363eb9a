// A named SQL statement, made from src/sql/FOLDER/NAME.sql or cli/sql/FOLDER/NAME.sql at build time. The name stands in
// logs and errors.
#pragma once

#include <string_view>

namespace dogged::db {

/// The text names the schema `dogged.`; a connection puts its own schema's name there (see with_schema).
struct Statement {
  std::string_view name;
  std::string_view text;
};

}  // namespace dogged::db
