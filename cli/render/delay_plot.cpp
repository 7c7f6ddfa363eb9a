// A retry policy's delays as a table with bars.
#include "cli/render/delay_plot.hpp"

#include <algorithm>
#include <cmath>

#include "cli/render/text.hpp"

namespace dogged::cli {
namespace {

std::string range_text(const DelayRange& range) {
  if (range.shortest == range.longest) return "exact";
  return readable(range.shortest) + " to " + readable(range.longest);
}

/// Full up to the shortest delay, shaded on to the longest.
std::string bar(const DelayRange& delay, milliseconds longest, std::size_t columns, const Style& style) {
  const auto cells = [&](milliseconds part) {
    const double share = static_cast<double>(part.count()) / static_cast<double>(longest.count());
    return static_cast<std::size_t>(std::lround(share * static_cast<double>(columns)));
  };
  const std::size_t certain = cells(delay.shortest);
  const std::size_t possible = std::max<std::size_t>(cells(delay.longest), 1) - certain;
  return style.paint(Color::cyan, repeat(style.pick("█", "#"), certain)) +
         style.paint(Color::cyan, repeat(style.pick("░", "."), possible));
}

struct Line {
  std::string number, delay, range;
};

}  // namespace

std::vector<DelayRange> delays_of(const RetryPolicy& policy) {
  std::vector<DelayRange> delays;
  if (std::holds_alternative<Custom>(policy)) return delays;
  for (int retry = 1; retry <= max_retries(policy); ++retry) {
    if (const auto range = delay_range(policy, retry)) delays.push_back(*range);
  }
  return delays;
}

DelayRange total_of(const std::vector<DelayRange>& delays) {
  DelayRange total{};
  for (const DelayRange& delay : delays) {
    total.shortest += delay.shortest;
    total.backoff += delay.backoff;
    total.longest += delay.longest;
  }
  return total;
}

std::string render_delays(const RetryPolicy& policy, const Style& style) {
  const std::vector<DelayRange> delays = delays_of(policy);
  if (std::holds_alternative<Custom>(policy)) return "  a function of the worker decides each delay\n";
  if (delays.empty()) return "  never retried: a failure ends the task\n";

  std::vector<Line> lines{{"retry", "delay", "with jitter"}};
  milliseconds longest{1};
  for (std::size_t i = 0; i < delays.size(); ++i) {
    lines.push_back({std::to_string(i + 1), readable(delays[i].backoff), range_text(delays[i])});
    longest = std::max(longest, delays[i].longest);
  }
  const DelayRange total = total_of(delays);
  lines.push_back({"total", readable(total.backoff), range_text(total)});

  std::size_t delay_width = 0;
  std::size_t range_width = 0;
  for (const Line& line : lines) {
    delay_width = std::max(delay_width, line.delay.size());
    range_width = std::max(range_width, line.range.size());
  }
  const std::size_t left = column_gap + 5 + column_gap + delay_width + column_gap + range_width + column_gap;
  const std::size_t columns = std::max(style.width, narrowest_picture) - left;

  std::string text;
  const std::string space(column_gap, ' ');
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const bool head = i == 0;
    const bool foot = i + 1 == lines.size();
    std::string row = space + pad_left(lines[i].number, 5) + space + pad_left(lines[i].delay, delay_width) + space;
    row += head || foot ? lines[i].range : pad_right(lines[i].range, range_width);
    if (head) row = style.paint(Color::dim, row);
    if (foot) row = style.paint(Color::bold, row);
    if (!head && !foot) row += space + bar(delays[i - 1], longest, columns, style);
    text += row + "\n";
  }
  return text;
}

}  // namespace dogged::cli
