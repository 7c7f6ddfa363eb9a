// Tables for people.
#include "cli/render/table.hpp"

#include <algorithm>
#include <functional>

namespace dogged::cli {
namespace {

constexpr std::size_t narrowest_cut = 8;

struct Layout {
  std::vector<std::size_t> shown;   ///< positions of the columns that are not empty, and have room
  std::vector<std::size_t> widths;  ///< of all columns
};

/// The columns that a column takes at least.
using Least = std::function<std::size_t(std::size_t column)>;

std::vector<std::vector<Cell>> harmless_rows(std::vector<std::vector<Cell>> rows, const Style& style) {
  for (auto& row : rows) {
    for (Cell& cell : row) {
      const std::string& text = style.wide && !cell.in_full.empty() ? cell.in_full : cell.text;
      cell.text = harmless(text, style.unicode);
    }
  }
  return rows;
}

std::size_t total_width(const Layout& layout, const Least& width_of) {
  std::size_t total = layout.shown.empty() ? 0 : column_gap * (layout.shown.size() - 1);
  for (std::size_t i : layout.shown) total += width_of(i);
  return total;
}

/// Leaves columns out, the highest ranks first, until the others fit.
void leave_out(const std::vector<Column>& columns, Layout& layout, const Least& least, std::size_t width) {
  while (total_width(layout, least) > width) {
    const auto last = std::max_element(layout.shown.begin(), layout.shown.end(),
                                       [&](std::size_t a, std::size_t b) { return columns[a].rank < columns[b].rank; });
    if (columns[*last].rank == 0) return;
    layout.shown.erase(last);
  }
}

/// Takes the excess from the widest column that has more than its least, one column after another.
void shrink(Layout& layout, const Least& least, std::size_t width) {
  std::size_t total = total_width(layout, [&](std::size_t i) { return layout.widths[i]; });
  for (; total > width; --total) {
    std::size_t* widest = nullptr;
    for (std::size_t i : layout.shown) {
      std::size_t& candidate = layout.widths[i];
      if (candidate > least(i) && (widest == nullptr || candidate > *widest)) widest = &candidate;
    }
    if (widest == nullptr) return;
    --*widest;
  }
}

void fit(const std::vector<Column>& columns, Layout& layout, std::size_t width) {
  const auto least = [&](std::size_t most) {
    return [&, most](std::size_t i) {
      return columns[i].least == 0 ? layout.widths[i] : std::min({layout.widths[i], columns[i].least, most});
    };
  };
  leave_out(columns, layout, least(width), width);
  shrink(layout, least(width), width);
  shrink(layout, least(narrowest_cut), width);
}

Layout lay_out(const std::vector<Column>& columns, const std::vector<std::vector<Cell>>& rows, const Style& style) {
  Layout layout;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    std::size_t widest = 0;
    for (const auto& row : rows) widest = std::max(widest, display_width(row[i].text));
    if (widest > 0 || rows.empty()) layout.shown.push_back(i);
    layout.widths.push_back(std::max(widest, display_width(columns[i].title)));
  }
  if (!style.wide) fit(columns, layout, style.width);
  return layout;
}

/// The lines of a cell.
std::vector<std::string> lines_of(const std::string& text, const Column& column, std::size_t width, bool unicode) {
  if (column.wraps) return wrapped(text, width, unicode);
  return {shorten(text, width, unicode, column.cut)};
}

}  // namespace

Cell time_cell(Time time, Time now, Zone zone) {
  return {short_time(time, now, zone), Color::plain, date_and_clock_text(time, zone)};
}

std::string render_table(const std::vector<Column>& columns, const std::vector<std::vector<Cell>>& rows,
                         const Style& style) {
  const auto clean = harmless_rows(rows, style);
  const Layout layout = lay_out(columns, clean, style);
  std::string result;
  const auto add_row = [&](auto cell_at) {
    std::vector<std::vector<std::string>> cells;
    std::size_t height = 0;
    for (std::size_t i : layout.shown) {
      cells.push_back(lines_of(cell_at(i).text, columns[i], layout.widths[i], style.unicode));
      height = std::max(height, cells.back().size());
    }
    for (std::size_t number = 0; number < height; ++number) {
      std::string line;
      for (std::size_t shown = 0; shown < layout.shown.size(); ++shown) {
        const std::size_t i = layout.shown[shown];
        const std::string text = number < cells[shown].size() ? cells[shown][number] : "";
        const std::string painted = style.paint(cell_at(i).color, text);
        const std::string padding(layout.widths[i] - std::min(display_width(text), layout.widths[i]), ' ');
        if (shown > 0) line += std::string(column_gap, ' ');
        line += columns[i].align == Align::right ? padding + painted : painted + padding;
      }
      result += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";  // no spaces at the end of a line
    }
  };
  add_row([&](std::size_t i) { return Cell{columns[i].title, Color::dim}; });
  for (const auto& row : clean) {
    add_row([&](std::size_t i) { return row[i]; });
  }
  return result;
}

}  // namespace dogged::cli
