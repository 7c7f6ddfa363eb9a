// The rows that a statement gives.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace dogged::db {

class Rows;

/// One row of a result; valid while its Rows lives. Columns are named as in the statement. A name or a type that does
/// not fit is a mistake of dogged and throws std::logic_error.
class Row {
 public:
  [[nodiscard]] bool is_null(const char* column) const;
  [[nodiscard]] std::string_view text(const char* column) const;  ///< not null
  [[nodiscard]] std::int64_t number(const char* column) const;    ///< not null
  [[nodiscard]] bool boolean(const char* column) const;           ///< not null
  [[nodiscard]] std::optional<std::string> maybe_text(const char* column) const;
  [[nodiscard]] std::optional<std::int64_t> maybe_number(const char* column) const;

  /// The value of a column, by its position from 0: int, std::int64_t, double, bool, std::string or an optional of one.
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
  /// The only row; std::logic_error if there is not exactly one.
  [[nodiscard]] Row one() const;
  [[nodiscard]] std::vector<std::string> columns() const;
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

  class Iterator {
   public:
    Iterator(const Rows& rows, std::size_t index) : rows_(&rows), index_(index) {}
    Row operator*() const { return (*rows_)[index_]; }
    Iterator& operator++() {
      ++index_;
      return *this;
    }
    bool operator!=(const Iterator& other) const { return index_ != other.index_; }

   private:
    const Rows* rows_;
    std::size_t index_;
  };
  [[nodiscard]] Iterator begin() const { return {*this, 0}; }
  [[nodiscard]] Iterator end() const { return {*this, size()}; }

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
