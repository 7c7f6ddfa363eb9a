// Tables for people.
#include "cli/render/table.hpp"

#include <algorithm>
#include <limits>

namespace dogged::cli {
namespace {

constexpr std::size_t narrowest_cut = 8;

struct Layout {
  std::vector<std::size_t> shown;   ///< positions of the columns that are not empty, and have room
  std::vector<std::size_t> widths;  ///< of all columns

  [[nodiscard]] std::size_t total() const {
    std::size_t sum = shown.empty() ? 0 : column_gap * (shown.size() - 1);
    for (std::size_t i : shown) sum += widths[i];
    return sum;
  }
};

std::vector<std::vector<Cell>> harmless_rows(std::vector<std::vector<Cell>> rows, const Style& style) {
  for (auto& row : rows) {
    for (Cell& cell : row) {
      const std::string& text = style.wide && !cell.in_full.empty() ? cell.in_full : cell.text;
      cell.text = harmless(text, style.unicode);
    }
  }
  return rows;
}

/// Takes the excess from one column, which keeps `least`.
void cut_one(Layout& layout, std::size_t column, std::size_t least, std::size_t width) {
  const std::size_t total = layout.total();
  std::size_t& own = layout.widths[column];
  if (total > width && own > least) own -= std::min(total - width, own - least);
}

/// Cuts each list to its `enough`, the highest ranks first.
void cut_lists(const std::vector<Column>& columns, Layout& layout, std::size_t width) {
  std::vector<std::size_t> by_rank = layout.shown;
  std::stable_sort(by_rank.begin(), by_rank.end(),
                   [&](std::size_t a, std::size_t b) { return columns[a].rank > columns[b].rank; });
  for (std::size_t i : by_rank) {
    if (columns[i].enough > 0) cut_one(layout, i, columns[i].enough, width);
  }
}

/// Cuts columns and leaves them out, the highest ranks first, until the others fit.
void leave_out(const std::vector<Column>& columns, Layout& layout, std::size_t width) {
  while (layout.total() > width) {
    const auto last = std::max_element(layout.shown.begin(), layout.shown.end(),
                                       [&](std::size_t a, std::size_t b) { return columns[a].rank < columns[b].rank; });
    if (columns[*last].rank == 0) return;
    if (columns[*last].least > 0) cut_one(layout, *last, columns[*last].least, width);
    if (layout.total() > width) layout.shown.erase(last);
  }
}

/// Takes the excess from the widest column that has more than its least, and than `most`, one column after another.
void shrink(const std::vector<Column>& columns, Layout& layout, std::size_t most, std::size_t width) {
  for (std::size_t total = layout.total(); total > width; --total) {
    std::size_t* widest = nullptr;
    for (std::size_t i : layout.shown) {
      const std::size_t least = columns[i].least;
      std::size_t& candidate = layout.widths[i];
      const bool may_be_cut = least > 0 && candidate > std::min(least, most);
      if (may_be_cut && (widest == nullptr || candidate > *widest)) widest = &candidate;
    }
    if (widest == nullptr) return;
    --*widest;
  }
}

/// Each step goes as far as it has to. The order of the steps is the same for all widths, so a wider terminal never
/// shows less of a column.
void fit(const std::vector<Column>& columns, Layout& layout, std::size_t width) {
  cut_lists(columns, layout, width);
  leave_out(columns, layout, width);
  shrink(columns, layout, std::numeric_limits<std::size_t>::max(), width);
  shrink(columns, layout, narrowest_cut, width);
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
    std::string line;
    for (std::size_t i : layout.shown) {
      const Cell cell = cell_at(i);
      const std::string text = shorten(cell.text, layout.widths[i], style.unicode, columns[i].cut);
      const std::string painted = style.paint(cell.color, text);
      const std::string padding(layout.widths[i] - std::min(display_width(text), layout.widths[i]), ' ');
      if (i != layout.shown.front()) line += std::string(column_gap, ' ');
      line += columns[i].align == Align::right ? padding + painted : painted + padding;
    }
    result += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";  // no spaces at the end of a line
  };
  add_row([&](std::size_t i) { return Cell{columns[i].title, Color::dim}; });
  for (const auto& row : clean) {
    add_row([&](std::size_t i) { return row[i]; });
  }
  return result;
}

}  // namespace dogged::cli
