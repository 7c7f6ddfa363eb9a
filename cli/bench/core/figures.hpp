// The figures of a benchmark: named, one value for each round.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "cli/render/table.hpp"

namespace dogged::cli::bench {

struct Figure {
  std::string key;    ///< in JSON: `drained_per_s`
  std::string label;  ///< for people: `drained`
  std::string unit;   ///< `tasks/s`, `ms`
  std::vector<double> rounds;
};

/// The percentile `q` (0 to 1) of the values by the nearest rank: the smallest value that at least this share does not
/// exceed. 0 if there are no values.
[[nodiscard]] double quantile(std::vector<double> values, double q);
[[nodiscard]] double median(const std::vector<double>& values);

/// Three digits that count at least, thousands grouped: `0.873`, `12.3`, `97,412`.
[[nodiscard]] std::string number_for_people(double value);

class Figures {
 public:
  /// Adds a round's value to the figure with this key. Makes the figure if it is new.
  void add(const std::string& key, const std::string& label, const std::string& unit, double value);
  /// p50, p99 and the largest, as three figures.
  void add_times(const std::string& key, const std::string& label, const std::vector<double>& milliseconds);

  [[nodiscard]] const std::vector<Figure>& all() const noexcept { return figures_; }
  [[nodiscard]] std::vector<std::vector<Cell>> rows() const;
  [[nodiscard]] std::vector<Column> columns() const;
  /// A JSON array of objects with key, unit, median, min, max and rounds.
  [[nodiscard]] std::string json() const;

 private:
  std::vector<Figure> figures_;
};

}  // namespace dogged::cli::bench
