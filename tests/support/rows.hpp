// The rows of a test's own statement. Tests read columns by name. Statements of dogged have structs instead.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "db/rows.hpp"

namespace dogged::test {

/// A name or a type that does not fit is a mistake of the test, and throws std::logic_error.
class Row {
 public:
  Row(db::Rows rows, std::size_t index) : rows_(std::move(rows)), index_(index) {}

  [[nodiscard]] bool is_null(std::string_view column) const { return !maybe_text(column); }
  [[nodiscard]] std::string text(std::string_view column) const { return at<std::string>(column); }      ///< not null
  [[nodiscard]] std::int64_t number(std::string_view column) const { return at<std::int64_t>(column); }  ///< not null
  [[nodiscard]] bool boolean(std::string_view column) const { return at<bool>(column); }                 ///< not null
  [[nodiscard]] std::optional<std::string> maybe_text(std::string_view column) const {
    return at<std::optional<std::string>>(column);
  }
  [[nodiscard]] std::optional<std::int64_t> maybe_number(std::string_view column) const {
    return at<std::optional<std::int64_t>>(column);
  }

 private:
  template <class T>
  [[nodiscard]] T at(std::string_view column) const {
    const auto& names = rows_.columns();
    const auto name = std::find(names.begin(), names.end(), column);
    if (name == names.end()) throw std::logic_error("there is no column " + std::string{column});
    return rows_[index_].at<T>(static_cast<std::size_t>(name - names.begin()));
  }

  db::Rows rows_;
  std::size_t index_;
};

class Rows {
 public:
  Rows(const db::Rows& rows) {
    for (std::size_t i = 0; i < rows.size(); ++i) rows_.emplace_back(rows, i);
  }

  [[nodiscard]] std::size_t size() const noexcept { return rows_.size(); }
  [[nodiscard]] bool empty() const noexcept { return rows_.empty(); }
  /// Throws std::out_of_range if there is no such row.
  [[nodiscard]] const Row& operator[](std::size_t index) const { return rows_.at(index); }
  /// The only row; std::logic_error if there is not exactly one.
  [[nodiscard]] Row one() const { return db::one(rows_); }
  [[nodiscard]] auto begin() const noexcept { return rows_.begin(); }
  [[nodiscard]] auto end() const noexcept { return rows_.end(); }

 private:
  std::vector<Row> rows_;
};

}  // namespace dogged::test
