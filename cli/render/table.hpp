// Tables for people: aligned columns that fit the terminal.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "cli/render/style.hpp"
#include "cli/render/text.hpp"

namespace dogged::cli {

enum class Align { left, right };

struct Column {
  std::string title;
  Align align = Align::left;
  /// On a terminal that is too narrow, the column with the highest rank is cut to `least` and then left out, then the
  /// next. So no column is cut while a less important one is there. Rank 0 stays, because its columns are the purpose
  /// of the table. Where even these do not fit, the widest is cut first, all to `least` and then further. So a wider
  /// terminal never shows less of a column.
  int rank = 0;
  /// Not cut below this width before it is left out. 0: never cut.
  std::size_t least = 0;
  /// Of lists, which may be of any length: cut to this width before any column is left out. 0: as the others.
  std::size_t enough = 0;
  Cut cut = Cut::end;
};

struct Cell {
  std::string text;
  Color color = Color::plain;
  std::string in_full{};  ///< in place of `text` in a wide table; empty: the same
};

/// As short_time writes it, and with date and clock in a wide table.
[[nodiscard]] Cell time_cell(Time time, Time now, Zone zone);

/// Lines, each with its newline; the titles first. Cells are made harmless. A column that is empty in all
/// rows is left out.
[[nodiscard]] std::string render_table(const std::vector<Column>& columns, const std::vector<std::vector<Cell>>& rows,
                                       const Style& style);

}  // namespace dogged::cli
