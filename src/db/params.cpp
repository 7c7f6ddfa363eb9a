// Parameters of statements, as text.
#include "db/params.hpp"

#include <array>
#include <charconv>
#include <utility>

namespace dogged::db {
namespace {

std::string number_text(std::int64_t number) { return std::to_string(number); }

/// An element of an array literal: always quoted, so that NULL, commas and braces in it are text.
void append_quoted(std::string& literal, std::string_view element) {
  literal += '"';
  for (char c : element) {
    if (c == '"' || c == '\\') literal += '\\';
    literal += c;
  }
  literal += '"';
}

/// {…} of `elements`, each written by `append_element(literal, element)`.
template <class Elements, class AppendElement>
std::string array_literal(const Elements& elements, AppendElement append_element) {
  std::string literal = "{";
  for (const auto& element : elements) {
    if (literal.size() > 1) literal += ',';
    append_element(literal, element);
  }
  literal += '}';
  return literal;
}

}  // namespace

Params& Params::add(std::string text) {
  values_.emplace_back(std::move(text));
  return *this;
}

Params& Params::add(std::int64_t number) { return add(number_text(number)); }

Params& Params::add(bool value) { return add(std::string_view{value ? "t" : "f"}); }

Params& Params::add(double number) {
  std::array<char, 32> buffer{};
  const auto [end, error] = std::to_chars(buffer.data(), buffer.data() + buffer.size(), number);
  (void)error;  // 32 characters hold the shortest form of every double
  return add(std::string_view{buffer.data(), static_cast<std::size_t>(end - buffer.data())});
}

Params& Params::add_null() {
  values_.emplace_back(std::nullopt);
  return *this;
}

Params& Params::add(std::optional<std::string> text) {
  values_.emplace_back(std::move(text));
  return *this;
}

Params& Params::add(const std::vector<std::string>& texts) {
  values_.emplace_back(array_literal(texts, append_quoted));
  return *this;
}

Params& Params::add(const std::vector<std::optional<std::string>>& texts) {
  values_.emplace_back(array_literal(texts, [](std::string& literal, const std::optional<std::string>& text) {
    text ? append_quoted(literal, *text) : void(literal += "NULL");
  }));
  return *this;
}

Params& Params::add(const std::vector<bool>& values) {
  values_.emplace_back(array_literal(values, [](std::string& literal, bool value) { literal += value ? 't' : 'f'; }));
  return *this;
}

Params& Params::add(const std::vector<int>& numbers) {
  values_.emplace_back(
      array_literal(numbers, [](std::string& literal, int number) { literal += number_text(number); }));
  return *this;
}

Params& Params::add(const std::vector<std::int64_t>& numbers) {
  values_.emplace_back(
      array_literal(numbers, [](std::string& literal, std::int64_t number) { literal += number_text(number); }));
  return *this;
}

Params& Params::add(const std::vector<std::optional<std::int64_t>>& numbers) {
  values_.emplace_back(array_literal(numbers, [](std::string& literal, std::optional<std::int64_t> number) {
    literal += number ? number_text(*number) : "NULL";
  }));
  return *this;
}

}  // namespace dogged::db
