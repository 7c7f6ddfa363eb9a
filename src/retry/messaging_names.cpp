// See messaging_names.hpp.
#include "retry/messaging_names.hpp"

#include <dogged/error.hpp>

#include "text/message.hpp"

namespace dogged {

MetricNames metric_names_from_text(std::string_view text) {
  if (text == "dogged") return MetricNames::dogged;
  if (text == "otel") return MetricNames::otel;
  if (text == "both") return MetricNames::both;
  throw InvalidInput("the names of metrics are " + in_quotes(text) + "; they must be dogged, otel or both");
}

void write_messaging(MetricsWriter& writer, const MessagingSeries& series, std::uint64_t count) {
  writer.sample({{"messaging_system", "dogged"},
                 {"messaging_operation_name", series.operation},
                 {"messaging_operation_type", series.operation},
                 {"messaging_destination_name", series.queue},
                 {"dogged_task", series.task},
                 {"error_type", series.error_type}},
                count);
}

void write_messaging(MetricsWriter& writer, const MessagingSeries& series,
                     const DurationCounts<retry_duration_buckets>::Read& durations) {
  writer.histogram({{"messaging_system", "dogged"},
                    {"messaging_operation_name", series.operation},
                    {"messaging_operation_type", series.operation},
                    {"messaging_destination_name", series.queue},
                    {"dogged_task", series.task},
                    {"error_type", series.error_type}},
                   in_seconds(retry_duration_buckets), durations.counts,
                   std::chrono::duration<double>{durations.sum}.count(), durations.exemplars);
}

}  // namespace dogged
