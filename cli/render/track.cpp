// A strip of time drawn in terminal cells.
#include "cli/render/track.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "cli/render/text.hpp"

namespace dogged::cli {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

constexpr std::size_t widest_tick = 9;  // "╷30 m" and room; a label that does not fit is left out

constexpr std::array<microseconds, 33> round_steps{
    milliseconds{1},   milliseconds{2},   milliseconds{5},   milliseconds{10}, milliseconds{20}, milliseconds{50},
    milliseconds{100}, milliseconds{200}, milliseconds{500}, seconds{1},       seconds{2},       seconds{5},
    seconds{10},       seconds{20},       seconds{30},       minutes{1},       minutes{2},       minutes{5},
    minutes{10},       minutes{20},       minutes{30},       hours{1},         hours{2},         hours{3},
    hours{6},          hours{12},         hours{24},         hours{48},        hours{24 * 5},    hours{24 * 10},
    hours{24 * 30},    hours{24 * 100},   hours{24 * 365}};

/// The shortest round step whose ticks leave room for their labels.
microseconds step_for(microseconds span, std::size_t columns) {
  const std::size_t ticks = std::max<std::size_t>(columns / widest_tick, 1);
  const auto fits = [&](microseconds step) { return span.count() / step.count() <= static_cast<long>(ticks); };
  const auto* step = std::find_if(round_steps.begin(), round_steps.end(), fits);
  return step == round_steps.end() ? span : *step;
}

}  // namespace

Scale::Scale(Time begin, Time end, std::size_t columns)
    : begin_(begin), end_(std::max(end, begin + milliseconds{1})), columns_(columns) {}

double Scale::position(Time time) const {
  const double share = static_cast<double>((time - begin_).count()) / static_cast<double>(span().count());
  return std::clamp(share, 0.0, 1.0) * static_cast<double>(columns_);
}

std::string Scale::axis(const Style& style) const {
  const microseconds step = step_for(span(), columns_);
  std::string line;
  for (microseconds at{0}; at <= span(); at += step) {
    const auto column = static_cast<std::size_t>(position(begin_ + at));
    const std::string label =
        std::string{style.pick("╷", "|")} + (at == microseconds{0} ? std::string{"0"} : readable(at));
    const bool free = line.empty() || display_width(line) < column;
    if (!free || column + display_width(label) > columns_) continue;
    line = pad_right(line, column) + label;
  }
  return line;
}

Track::Track(const Scale& scale, const Style& style) : scale_(scale), style_(style), cells_(scale.columns()) {}

std::size_t Track::cell_of(Time time) const {
  const auto cell = static_cast<std::size_t>(scale_.position(time));
  return std::min(cell, cells_.size() - 1);
}

void Track::fill(std::size_t from, std::size_t to, Painted painted) {
  std::fill(cells_.begin() + static_cast<std::ptrdiff_t>(from), cells_.begin() + static_cast<std::ptrdiff_t>(to),
            painted);
}

Track& Track::bar(Time from, Time to, Color color) {
  const double cells = scale_.position(to) - scale_.position(from);
  if (cells < 0.5) return mark(from, style_.pick("▏", "|"), color);
  const std::size_t first = cell_of(from);
  const auto end = static_cast<std::size_t>(std::lround(scale_.position(to)));
  fill(first, std::clamp(end, first + 1, cells_.size()), {style_.pick("█", "#"), color});
  return *this;
}

Track& Track::line(Time from, Time to, std::string_view glyph, Color color) {
  const std::size_t first = cell_of(from);
  const auto end = static_cast<std::size_t>(std::lround(scale_.position(to)));
  fill(first, std::clamp(end, first + 1, cells_.size()), {glyph, color});
  return *this;
}

Track& Track::mark(Time at, std::string_view glyph, Color color) {
  cells_[cell_of(at)] = {glyph, color};
  return *this;
}

std::string Track::text() const {
  std::size_t used = cells_.size();
  while (used > 0 && cells_[used - 1].glyph == " ") --used;
  std::string result;
  for (std::size_t i = 0; i < used;) {
    std::size_t end = i;
    std::string run;
    for (; end < used && cells_[end].color == cells_[i].color; ++end) run += cells_[end].glyph;
    result += style_.paint(cells_[i].color, run);
    i = end;
  }
  return result;
}

}  // namespace dogged::cli
