// The schema's name, which replaces `dogged.` in SQL text.
#include <dogged/error.hpp>

#include "db/settings.hpp"
#include "text/message.hpp"

namespace dogged::db {
namespace {

constexpr std::string_view written_schema = "dogged.";

bool is_identifier_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '$' ||
         c == '.' || c == '"';
}

}  // namespace

void require_schema_name(std::string_view schema) {
  constexpr std::size_t max_bytes = 48;  // PostgreSQL's 63, less what partition and channel names add
  bool valid = !schema.empty() && schema.size() <= max_bytes && (schema.front() < '0' || schema.front() > '9');
  for (char c : schema) valid = valid && ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_');
  if (!valid || schema.starts_with("pg_")) {
    throw InvalidInput("the schema name " + in_quotes(schema) +
                       " is not 1 to 48 of a-z 0-9 _ beginning with a letter or _ (and not with pg_)");
  }
}

std::string with_schema(std::string_view text, std::string_view schema) {
  std::string result;
  result.reserve(text.size() + 64);
  std::size_t position = 0;
  while (true) {
    const std::size_t found = text.find(written_schema, position);
    if (found == std::string_view::npos) break;
    const bool begins_a_word = found == 0 || !is_identifier_character(text[found - 1]);
    result.append(text.substr(position, found - position));
    result.append(begins_a_word ? std::string{schema} + "." : std::string{written_schema});
    position = found + written_schema.size();
  }
  return result.append(text.substr(position));
}

}  // namespace dogged::db
