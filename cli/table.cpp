// Tables for people.
#include "cli/table.hpp"

#include <algorithm>

#include "cli/text.hpp"

namespace dogged::cli {
namespace {

constexpr std::size_t narrowest_flexible = 8;

struct Layout {
  std::vector<std::size_t> shown;   ///< positions of the columns that are not empty
  std::vector<std::size_t> widths;  ///< of all columns
};

std::vector<std::vector<Cell>> harmless_rows(std::vector<std::vector<Cell>> rows, const Style& style) {
  for (auto& row : rows) {
    for (Cell& cell : row) cell.text = harmless(cell.text, style.unicode);
  }
  return rows;
}

/// Takes the columns that are too much from the widest flexible one, again and again.
void shrink(const std::vector<Column>& columns, Layout& layout, std::size_t width) {
  std::size_t total = layout.shown.empty() ? 0 : column_gap * (layout.shown.size() - 1);
  for (std::size_t i : layout.shown) total += layout.widths[i];
  while (total > width) {
    std::size_t widest = columns.size();
    for (std::size_t i : layout.shown) {
      if (!columns[i].flexible || layout.widths[i] <= narrowest_flexible) continue;
      if (widest == columns.size() || layout.widths[i] > layout.widths[widest]) widest = i;
    }
    if (widest == columns.size()) return;
    --layout.widths[widest];
    --total;
  }
}

Layout lay_out(const std::vector<Column>& columns, const std::vector<std::vector<Cell>>& rows, std::size_t width) {
  Layout layout;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    std::size_t widest = 0;
    for (const auto& row : rows) widest = std::max(widest, display_width(row[i].text));
    if (widest > 0 || rows.empty()) layout.shown.push_back(i);
    layout.widths.push_back(std::max(widest, display_width(columns[i].title)));
  }
  shrink(columns, layout, width);
  return layout;
}

std::string aligned(const std::string& text, Align align, std::size_t width) {
  return align == Align::right ? pad_left(text, width) : pad_right(text, width);
}

}  // namespace

std::string render_table(const std::vector<Column>& columns, const std::vector<std::vector<Cell>>& rows,
                         const Style& style) {
  const auto clean = harmless_rows(rows, style);
  const Layout layout = lay_out(columns, clean, style.width);
  std::string result;
  const auto add_line = [&](auto cell_at) {
    std::string line;
    for (std::size_t i : layout.shown) {
      const Cell cell = cell_at(i);
      const std::string text = shorten(cell.text, layout.widths[i], style.unicode);
      const bool last = i == layout.shown.back();
      if (i != layout.shown.front()) line += std::string(column_gap, ' ');
      // No spaces at the end of a line.
      line += last && columns[i].align == Align::left
                  ? style.paint(cell.color, text)
                  : style.paint(cell.color, aligned(text, columns[i].align, layout.widths[i]));
    }
    result += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
  };
  add_line([&](std::size_t i) { return Cell{columns[i].title, Color::dim}; });
  for (const auto& row : clean) {
    add_line([&](std::size_t i) { return row[i]; });
  }
  return result;
}

}  // namespace dogged::cli
