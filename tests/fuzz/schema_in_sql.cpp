// The schema's name in SQL text, whatever else the text says.
#include <string>

#include "db/connection.hpp"
#include "fuzz.hpp"

namespace {

/// The rule once more: each `dogged.` is replaced, unless the character before makes it a part of another word.
std::string replaced_one_by_one(std::string text, const std::string& schema) {
  const std::string of_a_word = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_$.\"";
  for (auto at = text.rfind("dogged."); at != std::string::npos; at = text.rfind("dogged.", at - 1)) {
    const bool in_a_word = at > 0 && of_a_word.find(text[at - 1]) != std::string::npos;
    if (!in_a_word) text.replace(at, std::string{"dogged"}.size(), schema);
    if (at == 0) break;
  }
  return text;
}

}  // namespace

FUZZ_TARGET(schema_in_sql, input) {
  const std::string text{input};
  for (const std::string schema : {"other", "s", "dogged_test_1"}) {
    const std::string replaced = dogged::db::with_schema(text, schema);
    require(replaced == replaced_one_by_one(text, schema), "dogged. is replaced where it begins a word", replaced);
  }
  require(dogged::db::with_schema(text, "dogged") == text, "the schema dogged leaves SQL as it is");
}
