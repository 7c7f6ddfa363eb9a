// Writes metrics as Prometheus reads them: its text format 0.0.4, or OpenMetrics 1.0.
// https://prometheus.io/docs/instrumenting/exposition_formats/
// https://prometheus.io/docs/specs/om/open_metrics_spec/
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include <dogged/retry_metrics.hpp>

#include "retry/metric_series.hpp"

namespace dogged {

enum class MetricsFormat { prometheus, openmetrics };

/// By the header Accept of a request, which may be empty: OpenMetrics where it is accepted.
[[nodiscard]] MetricsFormat metrics_format_for(std::string_view accept);
/// The header Content-Type of the answer.
[[nodiscard]] std::string_view content_type_of(MetricsFormat format);

class MetricsWriter {
 public:
  /// One whose value is no_label is left out.
  struct Label {
    std::string_view name;
    std::string_view value;
  };

  explicit MetricsWriter(MetricsFormat format = MetricsFormat::prometheus) : format_(format) {}

  /// Begins a family. The name of a counter ends with _total. `name` must live until the next call.
  void family(std::string_view name, std::string_view type, std::string_view help);

  /// Of the family that was begun last. `suffix` is for the parts of a histogram.
  void sample(std::initializer_list<Label> labels, std::string_view value, std::string_view suffix = {});
  void sample(std::initializer_list<Label> labels, std::uint64_t value, std::string_view suffix = {});
  void sample(std::initializer_list<Label> labels, double value, std::string_view suffix = {});

  /// The buckets, the sum and the count of one series of a histogram. `bounds` are in seconds. `counts` has one more
  /// element, for values beyond the last bound, and each element counts its own bucket alone. `exemplars` are as many
  /// as `counts`, or none; OpenMetrics alone has them.
  void histogram(std::initializer_list<Label> labels, std::span<const double> bounds,
                 std::span<const std::uint64_t> counts, double sum,
                 std::span<const std::optional<Exemplar>> exemplars = {});

  /// The whole text so far.
  [[nodiscard]] std::string take();

 private:
  void add(std::initializer_list<std::string_view> parts);
  void add_labels(std::initializer_list<Label> labels, std::string_view bound);
  void add_exemplar(const Exemplar& exemplar);
  void add_escaped(std::string_view value);

  const MetricsFormat format_;
  std::string text_;
  std::string_view name_;
};

/// The bounds of a histogram, for MetricsWriter.
template <std::size_t Size>
[[nodiscard]] std::array<double, Size> in_seconds(const std::array<milliseconds, Size>& bounds) {
  std::array<double, Size> seconds{};
  std::transform(bounds.begin(), bounds.end(), seconds.begin(),
                 [](milliseconds bound) { return std::chrono::duration<double>{bound}.count(); });
  return seconds;
}

}  // namespace dogged
