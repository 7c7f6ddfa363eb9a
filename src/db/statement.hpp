// A named SQL statement, made from src/sql/FOLDER/NAME.sql or cli/sql/FOLDER/NAME.sql at build time. Logs and errors
// name it.
#pragma once

#include <concepts>
#include <string_view>
#include <utility>

#include "db/params.hpp"

namespace dogged::db {

/// The text calls the schema `dogged.`; a connection replaces that by the name of its own schema (see with_schema).
struct Statement {
  std::string_view name;
  std::string_view text;
};

/// A struct that the build has made of a statement: its values, and the type of its rows.
template <class T>
concept TypedStatement = requires(T typed) {
  typename T::Row;
  { std::move(typed).params() } -> std::same_as<Params>;
};

/// A statement with its values, whatever its types.
struct BoundStatement {
  template <TypedStatement Typed>
  BoundStatement(Typed typed) : statement(Typed::statement), params(std::move(typed).params()) {}

  Statement statement;
  Params params;
};

}  // namespace dogged::db
