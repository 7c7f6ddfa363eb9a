// See exposition.hpp.
#include "retry/exposition.hpp"

#include <chrono>
#include <utility>

#include "text/number_text.hpp"

namespace dogged {
namespace {

constexpr std::string_view total_suffix = "_total";

/// OpenMetrics wants 1.0 for the bound 1. Prometheus 2 takes 1 and 1.0 for two series, so both formats have 1.0.
std::string text_of_bound(double bound) {
  std::string text = number_to_text(bound);
  if (text.find_first_not_of("0123456789") == std::string::npos) text += ".0";
  return text;
}

}  // namespace

MetricsFormat metrics_format_for(std::string_view accept) {
  const bool takes_openmetrics = accept.find("application/openmetrics-text") != std::string_view::npos;
  return takes_openmetrics ? MetricsFormat::openmetrics : MetricsFormat::prometheus;
}

std::string_view content_type_of(MetricsFormat format) {
  return format == MetricsFormat::openmetrics ? "application/openmetrics-text; version=1.0.0; charset=utf-8"
                                              : "text/plain; version=0.0.4; charset=utf-8";
}

void MetricsWriter::family(std::string_view name, std::string_view type, std::string_view help) {
  name_ = name;
  // In OpenMetrics _total belongs to the sample, not to the family.
  if (format_ == MetricsFormat::openmetrics && name.ends_with(total_suffix)) name.remove_suffix(total_suffix.size());
  add({"# HELP ", name, " ", help, "\n# TYPE ", name, " ", type, "\n"});
}

void MetricsWriter::sample(std::initializer_list<Label> labels, std::string_view value, std::string_view suffix) {
  add({name_, suffix});
  add_labels(labels, {});
  add({" ", value, "\n"});
}

void MetricsWriter::sample(std::initializer_list<Label> labels, std::uint64_t value, std::string_view suffix) {
  sample(labels, std::string_view{std::to_string(value)}, suffix);
}

void MetricsWriter::sample(std::initializer_list<Label> labels, double value, std::string_view suffix) {
  sample(labels, std::string_view{number_to_text(value)}, suffix);
}

void MetricsWriter::histogram(std::initializer_list<Label> labels, std::span<const double> bounds,
                              std::span<const std::uint64_t> counts, double sum,
                              std::span<const std::optional<Exemplar>> exemplars) {
  const bool shows_exemplars = format_ == MetricsFormat::openmetrics && !exemplars.empty();
  std::uint64_t count = 0;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    count += counts[i];
    add({name_, "_bucket"});
    add_labels(labels, i < bounds.size() ? text_of_bound(bounds[i]) : "+Inf");
    add({" ", std::to_string(count)});
    if (shows_exemplars && exemplars[i]) add_exemplar(*exemplars[i]);
    text_ += '\n';
  }
  sample(labels, sum, "_sum");
  sample(labels, count, "_count");
}

std::string MetricsWriter::take() {
  if (format_ == MetricsFormat::openmetrics) text_ += "# EOF\n";
  return std::exchange(text_, {});
}

void MetricsWriter::add(std::initializer_list<std::string_view> parts) {
  for (const std::string_view part : parts) text_ += part;
}

void MetricsWriter::add_labels(std::initializer_list<Label> labels, std::string_view bound) {
  std::string_view separator = "{";
  for (const Label& label : labels) {
    if (label.value == no_label) continue;
    add({separator, label.name, "=\""});
    add_escaped(label.value);
    text_ += '"';
    separator = ",";
  }
  if (!bound.empty()) {
    add({separator, "le=\"", bound, "\""});
    separator = ",";
  }
  if (separator == ",") text_ += '}';
}

void MetricsWriter::add_exemplar(const Exemplar& exemplar) {
  const TraceContext trace{.trace_id = exemplar.trace_id, .span_id = exemplar.span_id};
  const double at = std::chrono::duration<double>{exemplar.at.time_since_epoch()}.count();
  add({" # {trace_id=\"", trace.trace_id_text(), "\",span_id=\"", trace.span_id_text(), "\"} ",
       number_to_text(exemplar.seconds), " ", number_to_text(at)});
}

void MetricsWriter::add_escaped(std::string_view value) {
  for (const char c : value) {
    if (c == '\\' || c == '"') text_ += '\\';
    c == '\n' ? text_ += "\\n" : text_ += c;
  }
}

}  // namespace dogged
