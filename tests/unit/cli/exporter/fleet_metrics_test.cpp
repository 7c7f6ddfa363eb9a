// The metrics of `dogged exporter`.
#include "cli/exporter/core/fleet_metrics.hpp"

#include <map>
#include <string>
#include <utility>

#include "support/catch.hpp"
#include "support/exposition.hpp"

using namespace dogged;
using namespace dogged::cli::exporter;

namespace {

using Labels = std::map<std::string, std::string>;

support::Exposition read(const FleetMetrics& metrics) {
  return support::ExpositionReader::read(metrics.text(MetricsFormat::prometheus));
}

/// The value of the only sample with these labels, in the samples of this name.
double value(const support::Exposition& families, const std::string& family, const Labels& labels,
             const std::string& suffix = "") {
  for (const support::Sample& sample : families.at(family).samples) {
    if (sample.labels == labels && sample.name == family + suffix) return sample.value;
  }
  throw std::out_of_range("no such sample of " + family);
}

Reading with_attempts(std::uint64_t count, std::size_t bucket = 0) {
  Reading reading;
  reading.new_attempts = {{.queue = "mail",
                           .task = "send",
                           .outcome = "succeeded",
                           .will_retry = false,
                           .bucket = bucket,
                           .count = count,
                           .seconds = 0.25 * static_cast<double>(count)}};
  return reading;
}

Reading with_queue(const std::string& name, std::int64_t ready) {
  Reading reading;
  reading.queues = {{.name = name, .ready = ready}};
  return reading;
}

}  // namespace

TEST_CASE("attempts of all readings add up, and gauges are those of the last one") {
  FleetMetrics metrics;
  metrics.add(with_attempts(3));
  metrics.add(with_attempts(1));
  Reading last = with_attempts(2, 5);
  last.queues = with_queue("mail", 7).queues;
  metrics.add(std::move(last));
  const auto families = read(metrics);
  const Labels labels{{"queue_name", "mail"}, {"task", "send"}, {"outcome", "succeeded"}, {"will_retry", "false"}};
  CHECK(value(families, "dogged_attempts_total", labels) == 6);
  const auto bucket = [&](const std::string& bound) {
    return value(families, "dogged_attempt_run_seconds", {{"queue_name", "mail"}, {"task", "send"}, {"le", bound}},
                 "_bucket");
  };
  CHECK(bucket("0.001") == 4);
  CHECK(bucket("0.1") == 4);
  CHECK(bucket("0.25") == 6);
  CHECK(bucket("+Inf") == 6);
  CHECK(value(families, "dogged_attempt_run_seconds", {{"queue_name", "mail"}, {"task", "send"}}, "_sum") == 1.5);
  CHECK(value(families, "dogged_queue_ready_tasks", {{"queue_name", "mail"}}) == 7);
}

TEST_CASE("a question that was refused leaves out its own metrics, and is named") {
  FleetMetrics metrics;
  Reading reading = with_queue("mail", 7);
  reading.asked = {{.query = Query::queues, .seconds = 0.002, .why_not = "", .age_seconds = 40},
                   {.query = Query::workers, .seconds = 0.001, .why_not = "permission denied"},
                   {.query = Query::dead_letters, .seconds = 0.001, .why_not = "", .age_seconds = std::nullopt}};
  metrics.add(std::move(reading));
  const auto families = read(metrics);
  CHECK(value(families, "dogged_up", {}) == 1);
  CHECK(value(families, "dogged_exporter_query_success", {{"query", "queues"}}) == 1);
  CHECK(value(families, "dogged_exporter_query_success", {{"query", "workers"}}) == 0);
  CHECK(value(families, "dogged_exporter_query_age_seconds", {{"query", "queues"}}) == 40);
  CHECK(value(families, "dogged_exporter_query_age_seconds", {{"query", "workers"}}) == 0);
  CHECK(families.at("dogged_exporter_query_age_seconds").samples.size() == 2);
  CHECK(families.count("dogged_queue_ready_tasks") == 1);
  CHECK(families.count("dogged_workers") == 0);
  CHECK(families.count("dogged_attempts_total") == 0);
}

TEST_CASE("while the database is away nothing old is served, and counters go on afterwards") {
  FleetMetrics metrics;
  CHECK(metrics.why_down() == "it was not asked yet");
  metrics.add(with_attempts(3));
  CHECK(metrics.why_down().empty());
  metrics.lose("the server closed the connection");
  auto families = read(metrics);
  CHECK(value(families, "dogged_up", {}) == 0);
  CHECK(families.count("dogged_attempts_total") == 0);
  CHECK(metrics.why_down() == "the server closed the connection");
  metrics.add(with_attempts(1));
  families = read(metrics);
  CHECK(families.at("dogged_attempts_total").samples.at(0).value == 4);
}

TEST_CASE("of 10,000 tasks 1,000 have all their labels, 1,000 more all but the last, and the others are summed",
          "[one_thread]") {
  FleetMetrics metrics;
  Reading reading;
  reading.queues.emplace();
  reading.new_attempts.emplace();
  reading.new_dead_letters.emplace();
  for (int i = 0; i < 10'000; ++i) {
    const std::string name = "n" + std::to_string(i);
    reading.queues->push_back({.name = name, .ready = 2, .oldest_due_seconds = static_cast<double>(i)});
    reading.new_attempts->push_back({.queue = name, .task = name, .outcome = "failed", .will_retry = true, .count = 1});
    reading.new_dead_letters->push_back({.task = name, .error_type = name, .count = 1});
  }
  metrics.add(std::move(reading));
  const auto families = read(metrics);
  for (const auto& [family, of_each, series] :
       {std::tuple{"dogged_queue_ready_tasks", 2, 1001}, std::tuple{"dogged_attempts_total", 1, 2001},
        std::tuple{"dogged_new_dead_letters_total", 1, 2001}}) {
    CAPTURE(family);
    const auto& samples = families.at(family).samples;
    CHECK(samples.size() == static_cast<std::size_t>(series));
    double sum = 0;
    for (const support::Sample& sample : samples) sum += sample.value;
    CHECK(sum == 10'000 * of_each);
  }
  CHECK(value(families, "dogged_queue_ready_tasks", {{"queue_name", "other"}}) == 18'000);
  CHECK(value(families, "dogged_queue_oldest_due_seconds", {{"queue_name", "other"}}) == 9'999);
}

TEST_CASE("workers count by state, and those that may claim show their lease") {
  FleetMetrics metrics;
  Reading reading;
  reading.workers = {{.name = "a", .state = "live", .age_seconds = 2, .left_seconds = 28},
                     {.name = "b", .state = "lapsed", .age_seconds = 40, .left_seconds = -10},
                     {.name = "c", .state = "lost", .age_seconds = 90, .left_seconds = -60},
                     {.name = "d", .state = "stopping", .age_seconds = 1, .left_seconds = 29}};
  metrics.add(std::move(reading));
  const auto families = read(metrics);
  for (const std::string state : {"live", "stopping", "lapsed", "lost"}) {
    CHECK(value(families, "dogged_workers", {{"state", state}}) == 1);
  }
  CHECK(value(families, "dogged_lease_age_seconds", {{"worker", "b"}}) == 40);
  CHECK(value(families, "dogged_lease_left_seconds", {{"worker", "b"}}) == -10);
  CHECK(families.at("dogged_lease_left_seconds").samples.size() == 3);
}

TEST_CASE("each queue has the number of live workers that serve it, which is 0 of one that none serves") {
  FleetMetrics metrics;
  Reading reading;
  reading.queues = {{.name = "mail"}, {.name = "orphan"}, {.name = "widowed"}};
  reading.workers = {{.name = "a", .state = "live", .queues = {"mail", "pdf"}},
                     {.name = "b", .state = "live", .queues = {"mail"}},
                     {.name = "c", .state = "lapsed", .queues = {"widowed"}},
                     {.name = "d", .state = "lost", .queues = {"widowed"}},
                     {.name = "e", .state = "stopping", .queues = {"mail", "widowed"}}};
  metrics.add(std::move(reading));
  const auto families = read(metrics);
  for (const auto& [queue, workers] :
       std::map<std::string, double>{{"mail", 2}, {"pdf", 1}, {"orphan", 0}, {"widowed", 0}}) {
    CHECK(value(families, "dogged_queue_workers", {{"queue_name", queue}}) == workers);
  }
  CHECK(families.at("dogged_queue_workers").samples.size() == 4);
}

TEST_CASE("a queue without a retry budget, and a table without a day to drop, have no such sample") {
  FleetMetrics metrics;
  Reading reading;
  reading.queues = {{.name = "a", .min_retries_per_second = 10.0},
                    {.name = "b", .retry_budget = 0.2, .min_retries_per_second = 10.0}};
  reading.partitions = {{.table = "tasks_done", .days_ahead = 7, .next_drop_at = std::nullopt}};
  metrics.add(std::move(reading));
  const auto families = read(metrics);
  CHECK(families.at("dogged_queue_retry_budget_ratio").samples.size() == 1);
  CHECK(families.at("dogged_queue_min_retries_per_second").samples.size() == 1);
  CHECK(value(families, "dogged_partitions_ahead", {{"table", "tasks_done"}}) == 7);
  CHECK(families.at("dogged_partition_next_drop_timestamp_seconds").samples.empty());
}

TEST_CASE("OpenMetrics ends with its mark, and a counter's family has no _total") {
  FleetMetrics metrics;
  metrics.add(with_attempts(1));
  const std::string text = metrics.text(MetricsFormat::openmetrics);
  CHECK(text.ends_with("# EOF\n"));
  CHECK(text.find("# TYPE dogged_attempts counter\n") != std::string::npos);
}

TEST_CASE("schedules count by state, and their ticks by outcome and by how late they fired") {
  FleetMetrics metrics;
  Reading reading;
  reading.schedules = {{.name = "nightly", .state = "active", .overdue_seconds = 90},
                       {.name = "hourly", .state = "active"},
                       {.name = "old", .state = "orphaned"}};
  reading.new_ticks = {{.schedule = "nightly", .outcome = "fired", .bucket = 0, .count = 2, .late_seconds = 0.002},
                       {.schedule = "nightly", .outcome = "fired", .bucket = 8, .count = 1, .late_seconds = 4},
                       {.schedule = "nightly", .outcome = "missed", .count = 1}};
  metrics.add(std::move(reading));
  const auto families = read(metrics);
  CHECK(value(families, "dogged_schedules", {{"state", "active"}}) == 2);
  CHECK(value(families, "dogged_schedules", {{"state", "orphaned"}}) == 1);
  CHECK(value(families, "dogged_schedules", {{"state", "paused"}}) == 0);
  CHECK(value(families, "dogged_schedule_overdue_seconds", {{"schedule", "nightly"}}) == 90);
  CHECK(value(families, "dogged_schedule_overdue_seconds", {{"schedule", "hourly"}}) == 0);
  CHECK(value(families, "dogged_schedule_ticks_total", {{"schedule", "nightly"}, {"outcome", "fired"}}) == 3);
  CHECK(value(families, "dogged_schedule_ticks_total", {{"schedule", "nightly"}, {"outcome", "missed"}}) == 1);
  CHECK(value(families, "dogged_schedule_late_seconds", {{"le", "1.0"}}, "_bucket") == 2);
  CHECK(value(families, "dogged_schedule_late_seconds", {}, "_count") == 3);
  CHECK(value(families, "dogged_schedule_late_seconds", {}, "_sum") == 4.002);
}
