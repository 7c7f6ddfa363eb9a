// The drawings and figures of docs/retry.md, made with the library's own delays and state machine.
//
//   retry_plots DOCS           writes DOCS/images/retry_*.svg, and prints the tables for DOCS/retry.md
//   retry_plots --check DOCS   fails where a drawing, or a table's line in the guide, is not what would be written
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <dogged/policy.hpp>

#include "retry_simulation.hpp"
#include "svg.hpp"

using namespace std::chrono_literals;
using namespace dogged;

namespace {

constexpr double width = 760;
constexpr double chart_left = 52;

double seconds(milliseconds time) { return static_cast<double>(time.count()) / 1000; }
double seconds(std::int64_t time_ms) { return static_cast<double>(time_ms) / 1000; }

/// `1,234`.
std::string grouped(std::int64_t number) {
  const std::string digits = std::to_string(number);
  std::string text;
  for (std::size_t i = 0; i < digits.size(); ++i) {
    if (i > 0 && (digits.size() - i) % 3 == 0) text += ',';
    text += digits[i];
  }
  return text;
}

/// Lines across a chart, with the value at the left of each.
void draw_grid(svg::Drawing& drawing, const svg::Axes& axes, const std::vector<int>& values) {
  for (const int value : values) {
    const double y = axes.y(value);
    drawing.line(axes.box.x, y, axes.box.x + axes.box.width, y, "grid");
    drawing.words(axes.box.x - 6, y + 4, grouped(value), "end");
  }
}

void draw_times(svg::Drawing& drawing, const svg::Axes& axes, int step_s) {
  for (int time = static_cast<int>(axes.left); time <= static_cast<int>(axes.right); time += step_s) {
    drawing.words(axes.x(time), axes.box.y + axes.box.height + 16, std::to_string(time) + " s", "middle");
  }
}

struct Shown {
  std::string_view title;
  std::string_view subtitle;
  RetryPolicy policy;
};

const std::vector<Shown>& shown_policies() {
  static const std::vector<Shown> shown = {
      {"fixed", "10 s each time", fixed(10s).with_max_retries(8)},
      {"fixed, a list", "2 s, 10 s, 20 s, 30 s", Fixed{.intervals = {2s, 10s, 20s, 30s}}},
      {"linear", "4 s more each time", linear(4s, 4s).with_max_retries(8)},
      {"exponential", "1 s, doubling, to 32 s", exponential(1s).with_max_retries(8).with_max_delay(32s)},
  };
  return shown;
}

/// A band from the shortest to the longest delay of each retry, and a dot at the backoff.
void draw_delays(svg::Drawing& drawing, const svg::Axes& axes, const RetryPolicy& policy) {
  for (int retry = 1; const auto range = delay_range(policy, retry); ++retry) {
    const double x = axes.x(retry);
    const double top = axes.y(seconds(range->longest));
    drawing.box({x - 6, top, 12, axes.y(seconds(range->shortest)) - top}, "band");
    drawing.circle(x, axes.y(seconds(range->backoff)), 3, "good");
    drawing.words(x, axes.box.y + axes.box.height + 16, std::to_string(retry), "middle");
  }
}

std::string delays_drawing() {
  svg::Drawing drawing{width, 300, "Delays of fixed, linear and exponential policies, with a jitter of 25 percent"};
  constexpr double panel_width = 160;
  double x = chart_left;
  drawing.words(x, 20, "Delay before each retry, in seconds. Dot: backoff; band: what ±25 % makes of it");
  for (const Shown& shown : shown_policies()) {
    const svg::Axes axes{{x, 76, panel_width, 170}, 0.4, 8.6, 45};
    drawing.words(x, 46, shown.title, "title");
    drawing.words(x, 62, shown.subtitle);
    for (const int value : {0, 10, 20, 30, 40}) {
      drawing.line(x, axes.y(value), x + panel_width, axes.y(value), "grid");
      if (x == chart_left) drawing.words(x - 6, axes.y(value) + 4, std::to_string(value), "end");
    }
    draw_delays(drawing, axes, shown.policy);
    x += panel_width + 14;
  }
  drawing.words(chart_left, 286, "retry 1, 2, 3, …");
  return drawing.text();
}

struct HerdCase {
  std::string_view name;
  RetryPolicy policy;
};

const std::vector<HerdCase>& herd_cases() {
  const auto policy = [](milliseconds base, Jitter jitter) {
    return exponential(base).with_max_retries(20).with_max_delay(30s).with_jitter(jitter);
  };
  static const std::vector<HerdCase> cases = {
      {"none", policy(1s, Jitter::none())},
      {"±25 %", policy(1s, Jitter::proportional(0.25))},
      {"full", policy(1s, Jitter::full())},
      {"full, first delay 5 s", policy(5s, Jitter::full())},
  };
  return cases;
}

/// The drawing and the table say when the last client is served, so none may give up.
std::vector<simulation::Request> requests_of(const HerdCase& shown) {
  const simulation::Herd herd;
  auto requests = run(herd, shown.policy);
  if (figures(requests).served != herd.clients)
    throw std::logic_error("clients gave up: the policy has too few retries");
  return requests;
}

/// Stacked bars: colours from the bottom up, and for each time how many of each.
struct Stacks {
  std::vector<std::string_view> colours;
  std::map<std::int64_t, std::array<int, 3>> counts = {};
  std::int64_t width_ms;
};

void draw_stacks(svg::Drawing& drawing, const svg::Axes& axes, const Stacks& stacks) {
  const double stack_width = axes.x(seconds(stacks.width_ms)) - axes.x(0);
  for (const auto& [index, counts] : stacks.counts) {
    const double x = axes.x(seconds(index * stacks.width_ms));
    if (x + stack_width > axes.box.x + axes.box.width + 0.1) break;
    int below = 0;
    for (std::size_t i = 0; i < stacks.colours.size(); ++i) {
      if (counts[i] == 0) continue;
      const double top = axes.y(below + counts[i]);
      drawing.box({x, top, stack_width, axes.y(below) - top}, stacks.colours[i]);
      below += counts[i];
    }
  }
}

struct LegendEntry {
  double x;
  std::string_view colour;
  std::string_view words;
};

void draw_legend(svg::Drawing& drawing, std::string_view title, const std::vector<LegendEntry>& entries) {
  drawing.words(chart_left, 20, title);
  for (const auto& [x, colour, words] : entries) {
    drawing.box({x, 10, 11, 11}, colour);
    drawing.words(x + 16, 20, words);
  }
}

void draw_herd(svg::Drawing& drawing, const svg::Axes& axes, const HerdCase& shown) {
  const auto requests = requests_of(shown);
  Stacks stacks{.colours = {"good", "bad"}, .width_ms = 250};
  for (const auto& request : requests) ++stacks.counts[request.at_ms / stacks.width_ms][request.served ? 0 : 1];
  draw_grid(drawing, axes, {0, 500, 1000});
  draw_stacks(drawing, axes, stacks);
  const auto found = figures(requests);
  drawing.words(
      axes.box.x + axes.box.width, axes.box.y - 8,
      grouped(found.refused) + " refused; the last is served at " + svg::number(seconds(found.last_served_ms)) + " s",
      "end");
}

std::string herd_drawing() {
  svg::Drawing drawing{width, 490, "1,000 clients that failed together come back: requests over time by jitter"};
  draw_legend(drawing, "Requests in each 250 ms:", {{230, "good", "served"}, {310, "bad", "refused"}});
  double y = 60;
  for (std::size_t i = 0; i < 3; ++i, y += 150) {
    const svg::Axes axes{{chart_left, y, width - 76, 100}, 0, 40, 1000};
    drawing.words(chart_left, y - 8, "jitter: " + std::string{herd_cases()[i].name}, "title");
    draw_herd(drawing, axes, herd_cases()[i]);
    draw_times(drawing, axes, 5);
  }
  return drawing.text();
}

std::vector<simulation::Call> calls_of_outage(bool has_breaker) {
  simulation::Breaker breaker{CircuitBreakerSettings{}};
  return run(simulation::Outage{}, has_breaker ? &breaker : nullptr);
}

void draw_outage(svg::Drawing& drawing, const svg::Axes& axes, const std::vector<simulation::Call>& calls) {
  Stacks stacks{.colours = {"good", "bad", "off"}, .width_ms = 1000};  // in the order of CallEnd
  for (const auto& call : calls) ++stacks.counts[call.at_ms / stacks.width_ms][static_cast<std::size_t>(call.end)];
  const simulation::Outage outage;
  const double down = axes.x(seconds(outage.down_from_ms));
  const double up = axes.x(seconds(outage.down_until_ms));
  drawing.box({down, axes.y(axes.top), up - down, axes.y(20) - axes.y(axes.top)}, "shade");
  drawing.words((down + up) / 2, axes.y(20) - 6, "the service is down", "middle");
  draw_grid(drawing, axes, {0, 10, 20});
  draw_stacks(drawing, axes, stacks);
  draw_times(drawing, axes, 20);
}

std::string outage_drawing() {
  svg::Drawing drawing{width, 385, "Calls to a service during an outage, without and with a circuit breaker"};
  draw_legend(drawing, "Calls in each second:",
              {{210, "good", "succeeded"}, {310, "bad", "failed after 1 s"}, {444, "off", "refused by the breaker"}});
  double y = 60;
  for (const bool has_breaker : {false, true}) {
    const svg::Axes axes{{chart_left, y, width - 76, 120}, 0, 120, 24};
    drawing.words(chart_left, y - 8, has_breaker ? "with a breaker (5 failures, 30 s, 2 probes)" : "without a breaker",
                  "title");
    draw_outage(drawing, axes, calls_of_outage(has_breaker));
    y += 175;
  }
  return drawing.text();
}

std::string herd_row(const HerdCase& shown) {
  const auto found = figures(requests_of(shown));
  return "| " + std::string{shown.name} + " | " + grouped(found.busiest) + " | " + grouped(found.refused) + " | " +
         svg::number(seconds(found.last_served_ms)) + " s |\n";
}

std::string outage_row(bool has_breaker) {
  const simulation::Outage outage;
  const auto found = figures(outage, calls_of_outage(has_breaker));
  return std::string{has_breaker ? "| with | " : "| without | "} + grouped(found.failed) + " | " +
         grouped(found.failed * outage.timeout_ms / 1000) + " s | " + grouped(found.refused) + " | " +
         grouped(found.refused_needlessly) + " |\n";
}

/// The lines of the guide's tables that are simulated.
std::vector<std::string> table_rows() {
  std::vector<std::string> rows;
  for (const HerdCase& shown : herd_cases()) rows.push_back(herd_row(shown));
  for (const bool has_breaker : {false, true}) rows.push_back(outage_row(has_breaker));
  return rows;
}

std::map<std::string, std::string> drawings() {
  return {{"retry_delays.svg", delays_drawing()},
          {"retry_herd.svg", herd_drawing()},
          {"retry_outage.svg", outage_drawing()}};
}

std::string read(const std::filesystem::path& path) {
  std::ifstream file{path, std::ios::binary};
  if (!file) throw std::runtime_error(path.string() + " cannot be read");
  return {std::istreambuf_iterator<char>{file}, {}};
}

void write(const std::filesystem::path& docs) {
  std::filesystem::create_directories(docs / "images");
  for (const auto& [name, text] : drawings()) {
    std::ofstream file{docs / "images" / name, std::ios::binary};
    if (!(file << text).flush()) throw std::runtime_error((docs / "images" / name).string() + " cannot be written");
  }
  for (const std::string& row : table_rows()) std::cout << row;
}

int check(const std::filesystem::path& docs) {
  std::vector<std::string> wrong;
  for (const auto& [name, text] : drawings()) {
    if (read(docs / "images" / name) != text) wrong.push_back("images/" + name + " is not what this program draws");
  }
  const std::string guide = read(docs / "retry.md");
  for (const std::string& row : table_rows()) {
    if (guide.find("\n" + row) == std::string::npos) wrong.push_back("retry.md lacks the line " + row);
  }
  for (const std::string& message : wrong) std::cerr << "retry_plots: " << message << '\n';
  if (!wrong.empty()) std::cerr << "write them again: retry_plots " << docs.string() << '\n';
  return wrong.empty() ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string_view> args(argv + 1, argv + argc);
  try {
    if (args.size() == 2 && args[0] == "--check") return check(args[1]);
    if (args.size() == 1 && args[0].substr(0, 1) != "-") {
      write(args[0]);
      return 0;
    }
    std::cerr << "usage: retry_plots [--check] DOCS\n";
    return 2;
  } catch (const std::exception& error) {
    std::cerr << "retry_plots: " << error.what() << '\n';
    return 1;
  }
}
