// See figures.hpp.
#include "cli/bench/core/figures.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include <nlohmann/json.hpp>

#include "cli/render/json_object.hpp"

namespace dogged::cli::bench {
namespace {

std::string with_decimals(double value, int decimals) {
  std::string text(64, '\0');
  text.resize(static_cast<std::size_t>(std::snprintf(text.data(), text.size(), "%.*f", decimals, value)));
  return text;
}

/// Digits, perhaps after a minus, in groups of three.
std::string grouped(const std::string& digits) {
  std::string text;
  for (std::size_t i = 0; i < digits.size(); ++i) {
    const bool begins_a_group = i > 0 && digits[i - 1] != '-' && (digits.size() - i) % 3 == 0;
    if (begins_a_group) text += ',';
    text += digits[i];
  }
  return text;
}

std::string json_number(double value) { return nlohmann::json(std::round(value * 1e4) / 1e4).dump(); }

}  // namespace

double quantile(std::vector<double> values, double q) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const double rank = std::ceil(q * static_cast<double>(values.size()));
  const auto index = static_cast<std::size_t>(std::max(rank, 1.0)) - 1;
  return values[std::min(index, values.size() - 1)];
}

double median(const std::vector<double>& values) { return quantile(values, 0.5); }

std::string number_for_people(double value) {
  const double size = std::abs(value);
  if (size >= 999.5) return grouped(with_decimals(value, 0));
  if (size >= 99.95) return with_decimals(value, 0);
  if (size >= 9.995) return with_decimals(value, 1);
  if (size >= 0.9995) return with_decimals(value, 2);
  return with_decimals(value, size == 0 ? 0 : 3);
}

void Figures::add(const std::string& key, const std::string& label, const std::string& unit, double value) {
  auto figure = std::find_if(figures_.begin(), figures_.end(), [&](const Figure& one) { return one.key == key; });
  if (figure == figures_.end()) figure = figures_.insert(figures_.end(), {key, label, unit, {}});
  figure->rounds.push_back(value);
}

void Figures::add_times(const std::string& key, const std::string& label, const std::vector<double>& milliseconds) {
  add(key + "_p50_ms", label + ", p50", "ms", quantile(milliseconds, 0.5));
  add(key + "_p99_ms", label + ", p99", "ms", quantile(milliseconds, 0.99));
  add(key + "_max_ms", label + ", worst", "ms", quantile(milliseconds, 1));
}

std::vector<Column> Figures::columns() const {
  const bool one_round =
      std::all_of(figures_.begin(), figures_.end(), [](const auto& f) { return f.rounds.size() < 2; });
  if (one_round) return {{"FIGURE"}, {"VALUE", Align::right}, {"UNIT"}};
  return {{"FIGURE"}, {"MEDIAN", Align::right}, {"LEAST", Align::right}, {"MOST", Align::right}, {"UNIT"}};
}

std::vector<std::vector<Cell>> Figures::rows() const {
  std::vector<std::vector<Cell>> rows;
  const bool with_range = columns().size() == 5;
  for (const Figure& figure : figures_) {
    std::vector<Cell> cells{{figure.label}, {number_for_people(median(figure.rounds)), Color::bold}};
    if (with_range) {
      cells.push_back({number_for_people(quantile(figure.rounds, 0))});
      cells.push_back({number_for_people(quantile(figure.rounds, 1))});
    }
    cells.push_back({figure.unit});
    rows.push_back(std::move(cells));
  }
  return rows;
}

std::string Figures::json() const {
  std::vector<std::string> elements;
  for (const Figure& figure : figures_) {
    std::vector<std::string> rounds;
    for (const double value : figure.rounds) rounds.push_back(json_number(value));
    elements.push_back(JsonObject{}
                           .add("key", figure.key)
                           .add("unit", figure.unit)
                           .add_json("median", json_number(median(figure.rounds)))
                           .add_json("min", json_number(quantile(figure.rounds, 0)))
                           .add_json("max", json_number(quantile(figure.rounds, 1)))
                           .add_json("rounds", json_array(rounds))
                           .text());
  }
  return json_array(elements);
}

}  // namespace dogged::cli::bench
