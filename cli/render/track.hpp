// A strip of time drawn in terminal cells: bars and lines at their places on one linear scale, and the axis
// above them.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "cli/render/moment.hpp"
#include "cli/render/style.hpp"

namespace dogged::cli {

/// Puts times on columns. `end` is after `begin`.
class Scale {
 public:
  Scale(Time begin, Time end, std::size_t columns);

  [[nodiscard]] std::size_t columns() const { return columns_; }
  [[nodiscard]] microseconds span() const { return end_ - begin_; }
  /// From 0 to columns(); times outside are at the edges.
  [[nodiscard]] double position(Time time) const;
  /// `╷0        ╷20 s     ╷40 s`: times since begin at round distances.
  [[nodiscard]] std::string axis(const Style& style) const;

 private:
  Time begin_;
  Time end_;
  std::size_t columns_;
};

class Track {
 public:
  Track(const Scale& scale, const Style& style);

  /// A bar. A bar much shorter than a cell is a thin stroke, which is visible and does not overstate.
  Track& bar(Time from, Time to, Color color);
  /// A line of `glyph`, one cell at least.
  Track& line(Time from, Time to, std::string_view glyph, Color color);
  /// One glyph in the cell of `at`.
  Track& mark(Time at, std::string_view glyph, Color color);

  /// Without spaces at the end.
  [[nodiscard]] std::string text() const;

 private:
  struct Painted {
    std::string_view glyph = " ";
    Color color = Color::plain;
  };

  [[nodiscard]] std::size_t cell_of(Time time) const;
  void fill(std::size_t from, std::size_t to, Painted painted);

  const Scale& scale_;
  const Style& style_;
  std::vector<Painted> cells_;
};

}  // namespace dogged::cli
