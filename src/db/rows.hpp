// The rows that a statement gives.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace dogged::db {

class Rows;

/// One row of a result; valid while its Rows lives.
class Row {
 public:
  /// The value of a column, by its position from 0: int, std::int64_t, double, bool, std::string or an optional of one.
  /// A type that does not fit is a mistake of dogged and throws std::logic_error.
  template <class T>
  [[nodiscard]] T at(std::size_t column) const;

 private:
  friend class Rows;
  Row(const Rows& rows, std::size_t index) : rows_(&rows), index_(index) {}

  const Rows* rows_;
  std::size_t index_;
};

/// A result. Copies share it.
class Rows {
 public:
  class Impl;
  explicit Rows(std::shared_ptr<const Impl> impl);
  ~Rows();
  Rows(const Rows&);
  Rows(Rows&&) noexcept;
  Rows& operator=(const Rows&);
  Rows& operator=(Rows&&) noexcept;

  [[nodiscard]] std::size_t size() const noexcept;
  [[nodiscard]] bool empty() const noexcept { return size() == 0; }
  [[nodiscard]] Row operator[](std::size_t index) const { return Row{*this, index}; }
  /// The names of the columns, as in the statement; valid while this lives.
  [[nodiscard]] const std::vector<std::string_view>& columns() const noexcept;
  /// How many rows the statement inserted, updated, deleted or selected.
  [[nodiscard]] std::int64_t affected() const;
  /// All rows as values. Throws std::logic_error if the columns are not those of RowOf.
  template <class RowOf>
  [[nodiscard]] std::vector<RowOf> as() const {
    require_columns(RowOf::columns);
    std::vector<RowOf> rows;
    rows.reserve(size());
    for (std::size_t i = 0; i < size(); ++i) rows.push_back(RowOf::of((*this)[i]));
    return rows;
  }

 private:
  friend class Row;
  void require_columns(std::span<const std::string_view> names) const;

  std::shared_ptr<const Impl> impl_;
};

/// The only row; std::logic_error if there is not exactly one.
template <class RowOf>
[[nodiscard]] RowOf one(std::vector<RowOf> rows) {
  if (rows.size() != 1) throw std::logic_error("one row expected, " + std::to_string(rows.size()) + " came");
  return std::move(rows.front());
}

}  // namespace dogged::db
