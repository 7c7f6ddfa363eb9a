// PostgreSQL's array literals, which parameters are written as. Each line of the input is an element; \N is NULL.
#include <cmath>
#include <cstdlib>
#include <optional>
#include <string>
#include <vector>

#include "db/connection.hpp"
#include "fuzz.hpp"

using dogged::db::Params;

namespace {

using Elements = std::vector<std::optional<std::string>>;

/// Reads a one-dimensional literal as the server does:
/// https://www.postgresql.org/docs/current/arrays.html#ARRAYS-IO
class LiteralReader {
 public:
  explicit LiteralReader(std::string_view literal) : rest_(literal) {}

  Elements read() {
    Elements elements;
    take('{');
    if (rest_ == "}") return elements;
    elements.push_back(element());
    while (rest_.starts_with(',')) {
      take(',');
      elements.push_back(element());
    }
    take('}');
    fuzz::require(rest_.empty(), "nothing stands after the literal", rest_);
    return elements;
  }

 private:
  void take(char c) {
    fuzz::require(rest_.starts_with(c), "the literal is well formed", rest_);
    rest_.remove_prefix(1);
  }

  std::optional<std::string> element() { return rest_.starts_with('"') ? quoted() : unquoted(); }

  std::string quoted() {
    std::string text;
    take('"');
    while (!rest_.starts_with('"')) {
      if (rest_.starts_with('\\')) rest_.remove_prefix(1);
      fuzz::require(!rest_.empty(), "a quoted element ends");
      text += rest_.front();
      rest_.remove_prefix(1);
    }
    take('"');
    return text;
  }

  std::optional<std::string> unquoted() {
    const std::string text{rest_.substr(0, rest_.find_first_of(",}\"\\{"))};
    fuzz::require(!text.empty(), "an element that is not quoted is not empty", rest_);
    rest_.remove_prefix(text.size());
    return text == "NULL" ? std::nullopt : std::optional{text};
  }

  std::string_view rest_;
};

Elements sent(const Params& params) { return LiteralReader{params.values().at(0).value()}.read(); }

}  // namespace

FUZZ_TARGET(array_literal, input) {
  Elements maybe_texts;
  std::vector<std::string> texts;
  std::vector<std::optional<std::int64_t>> maybe_numbers;
  Elements written_numbers;
  for (Lines lines{input}; !lines.at_end();) {
    texts.push_back(lines.text());
    const bool is_null = texts.back() == "\\N";
    maybe_texts.push_back(is_null ? std::nullopt : std::optional{texts.back()});
    const std::int64_t number = Lines{texts.back()}.number(INT64_MIN, INT64_MAX);
    maybe_numbers.push_back(is_null ? std::nullopt : std::optional{number});
    written_numbers.push_back(is_null ? std::nullopt : std::optional{std::to_string(number)});
  }
  require(sent(Params{}.add(texts)) == Elements(texts.begin(), texts.end()), "texts arrive as they were sent");
  require(sent(Params{}.add(maybe_texts)) == maybe_texts, "texts and NULLs arrive as they were sent");
  require(sent(Params{}.add(maybe_numbers)) == written_numbers, "numbers and NULLs arrive as they were sent");

  const double number = std::strtod(texts.empty() ? "0" : texts.front().c_str(), nullptr);
  const Params with_number = Params{}.add(number);
  const double arrived = std::strtod(with_number.values().at(0)->c_str(), nullptr);
  require(arrived == number || std::isnan(number), "a double arrives as it was sent");
}
