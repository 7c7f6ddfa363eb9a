// Tables with cells of any content. The first lines of the input are the terminal's width, whether it shows Unicode,
// and the number of columns. One line for each column follows (1: may be cut, 2: may be left out, 3: both), then one
// line for each cell.
#include "cli/render/table.hpp"

#include <algorithm>

#include "drawing.hpp"
#include "fuzz.hpp"

using namespace dogged::cli;

namespace {

using Rows = std::vector<std::vector<Cell>>;

/// As in each table of ours, the first column is never left out, and no cell of it is empty.
std::vector<Column> read_columns(fuzz::Lines& lines) {
  std::vector<Column> columns;
  for (auto left = lines.number(1, 8); left > 0; --left) {
    const auto may = lines.number(0, 3);
    columns.push_back({.title = "COLUMN " + std::to_string(left),
                       .align = left % 2 == 0 ? Align::left : Align::right,
                       .rank = may >= 2 && !columns.empty() ? static_cast<int>(left) : 0,
                       .least = may % 2 == 1 ? 8U : 0U,
                       .cut = left % 3 == 0 ? Cut::middle : Cut::end});
  }
  return columns;
}

Rows read_rows(fuzz::Lines& lines, std::size_t columns) {
  Rows rows;
  while (!lines.at_end()) {
    rows.emplace_back();
    for (std::size_t i = 0; i < columns; ++i) rows.back().push_back({(i == 0 ? "#" : "") + lines.text(), Color::red});
  }
  return rows;
}

/// The width that a table cannot go below: columns that may be cut keep 8, the others that stay what they hold.
std::size_t least_width(const std::vector<Column>& columns, const Rows& rows, bool unicode) {
  std::size_t width = 0;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    if (columns[i].rank > 0) continue;
    std::size_t widest = display_width(columns[i].title);
    for (const auto& row : rows) widest = std::max(widest, display_width(harmless(row[i].text, unicode)));
    width += (width > 0 ? 2 : 0) + (columns[i].least > 0 ? std::min<std::size_t>(widest, 8) : widest);
  }
  return width;
}

/// Each column that is shown is shown on a wider terminal as well. A title takes 8 columns, to which none is cut
/// further.
void require_all_shown_wider(const std::vector<Column>& columns, const Rows& rows, Style style,
                             const std::string& drawn) {
  const auto titles = [](const std::string& table) { return table.substr(0, table.find('\n')); };
  ++style.width;
  const std::string wider = titles(render_table(columns, rows, style));
  for (const Column& column : columns) {
    if (titles(drawn).find(column.title) == std::string::npos) continue;
    fuzz::require(wider.find(column.title) != std::string::npos, "a wider terminal shows all of them", drawn);
  }
}

}  // namespace

FUZZ_TARGET(table, input) {
  Lines lines{input};
  Style style{.width = static_cast<std::size_t>(lines.number(1, 200)), .zone = Zone::utc};
  style.unicode = lines.flag();
  const std::vector<Column> columns = read_columns(lines);
  const Rows rows = read_rows(lines, columns.size());

  const std::string drawn = render_table(columns, rows, style);
  require_drawn_within(drawn, std::max(style.width, least_width(columns, rows, style.unicode)));
  require(std::count(drawn.begin(), drawn.end(), '\n') == std::ssize(rows) + 1, "each row is a line", drawn);
  require_all_shown_wider(columns, rows, style, drawn);
  style.color = true;
  require(without_colors(render_table(columns, rows, style)) == without_colors(drawn), "colours change no text", drawn);
}
