// Tables for people: aligned columns that fit the terminal.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "cli/style.hpp"

namespace dogged::cli {

enum class Align { left, right };

struct Column {
  std::string title;
  Align align = Align::left;
  /// May be cut where the line is too long for the terminal; never below 8 columns.
  bool flexible = false;
};

struct Cell {
  std::string text;
  Color color = Color::plain;
};

/// Lines, each with its newline; the titles first. Cells are made harmless. A column that is empty in all
/// rows is left out.
[[nodiscard]] std::string render_table(const std::vector<Column>& columns, const std::vector<std::vector<Cell>>& rows,
                                       const Style& style);

}  // namespace dogged::cli
