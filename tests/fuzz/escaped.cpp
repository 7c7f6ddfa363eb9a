// Text from outside on its way into a log, and JSON on its way to a terminal.
#include "text/escaped.hpp"

#include <nlohmann/json.hpp>

#include "fuzz.hpp"

using nlohmann::json;

namespace {

void require_no_forging(const std::string& text) {
  fuzz::require(fuzz::is_printable_line(text), "it is one printable line", text);
  for (const char* forging :
       {"\u2028", "\u2029", "\u202A", "\u202E", "\u2066", "\u2069", "\u200E", "\u200F", "\u061C"}) {
    fuzz::require(text.find(forging) == std::string::npos, "nothing turns its direction", text);
  }
}

}  // namespace

FUZZ_TARGET(escaped, input) {
  const std::string line = dogged::escaped(input);
  require_no_forging(line);
  require(dogged::escaped(line) == line, "what is escaped stays as it is", line);

  const std::string text{input};
  const std::string document = json{{"text", text}}.dump(-1, ' ', false, json::error_handler_t::replace);
  const std::string safe = dogged::escaped_json(document);
  require_no_forging(safe);
  require(json::parse(safe) == json::parse(document), "JSON means the same", safe);
}
