// The values of a statement.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace dogged::db {

/// The parameters $1, $2, … of a statement, as text; PostgreSQL parses them by the casts in the statement.
class Params {
 public:
  Params& add(std::string text);
  Params& add(std::string_view text) { return add(std::string{text}); }
  Params& add(const char* text) { return add(std::string{text}); }
  Params& add(std::int64_t number);
  Params& add(int number) { return add(static_cast<std::int64_t>(number)); }
  Params& add(bool value);
  Params& add(double number);
  Params& add_null();
  Params& add(std::optional<std::string> text);
  template <class Number>
  requires std::is_arithmetic_v<Number> Params& add(const std::optional<Number>& number) {
    return number ? add(*number) : add_null();
  }
  /// Arrays, as PostgreSQL's array literals.
  Params& add(const std::vector<std::string>& texts);
  Params& add(const std::vector<std::optional<std::string>>& texts);
  Params& add(const std::vector<bool>& values);
  Params& add(const std::vector<int>& numbers);
  Params& add(const std::vector<std::int64_t>& numbers);
  Params& add(const std::vector<std::optional<std::int64_t>>& numbers);
  template <class Element>
  Params& add(const std::optional<std::vector<Element>>& array) {
    return array ? add(*array) : add_null();
  }

  [[nodiscard]] std::size_t size() const noexcept { return values_.size(); }
  [[nodiscard]] const std::vector<std::optional<std::string>>& values() const& noexcept { return values_; }
  [[nodiscard]] std::vector<std::optional<std::string>> values() && noexcept { return std::move(values_); }

 private:
  std::vector<std::optional<std::string>> values_;
};

}  // namespace dogged::db
