// Histograms of durations, and their exemplars.
#include "retry/duration_counts.hpp"

#include <thread>
#include <vector>

#include "support/catch.hpp"

using namespace dogged;
using namespace std::chrono_literals;
using Durations = DurationCounts<retry_duration_buckets>;

namespace {

const std::chrono::system_clock::time_point noon{1'700'000'000s};

TraceContext trace_of(std::uint8_t number) {
  TraceContext trace{.sampled = true};
  trace.trace_id.fill(number);
  trace.span_id.fill(number);
  return trace;
}

/// The number of the trace in that bucket; 0: there is none.
int exemplar_in(const Durations& durations, std::size_t bucket) {
  const auto exemplar = durations.read().exemplars.at(bucket);
  return exemplar ? exemplar->trace_id.front() : 0;
}

}  // namespace

TEST_CASE("each bucket shows the trace of a duration that it counts, and a later one once a second has passed") {
  Durations durations;
  durations.add(3ms, trace_of(1), noon);
  durations.add(4ms, trace_of(2), noon + 999ms);
  durations.add(40ms, trace_of(3), noon + 1ms);
  CHECK(exemplar_in(durations, 1) == 1);
  CHECK(exemplar_in(durations, 3) == 3);
  durations.add(5ms, trace_of(4), noon + 1s);
  CHECK(exemplar_in(durations, 1) == 4);
  CHECK(durations.read().exemplars.at(1)->seconds == 0.005);
  CHECK(durations.read().exemplars.at(1)->at == noon + 1s);
  CHECK(durations.read().counts.at(1) == 3);
}

TEST_CASE("a duration without a trace, or with one that is not sampled, makes no exemplar") {
  Durations durations;
  const TraceContext not_sampled{};
  durations.add(3ms);
  durations.add(3ms, &not_sampled);
  CHECK(exemplar_in(durations, 1) == 0);
  CHECK(durations.read().count() == 2);
}

TEST_CASE("of two histograms together a bucket shows the later exemplar") {
  Durations one, other;
  one.add(3ms, trace_of(1), noon);
  other.add(3ms, trace_of(2), noon + 1s);
  one.add(40ms, trace_of(3), noon + 1s);
  Durations::Read all = one.read();
  all += other.read();
  CHECK(all.exemplars.at(1)->trace_id == trace_of(2).trace_id);
  CHECK(all.exemplars.at(3)->trace_id == trace_of(3).trace_id);
  CHECK(all.count() == 3);
  CHECK(all.sum == 46ms);
}

TEST_CASE("threads that count at once lose no duration, and the exemplar is one of theirs") {
  Durations durations;
  constexpr int rounds = 1000;
  std::vector<std::thread> threads;
  for (std::uint8_t number = 1; number <= 4; ++number) {
    threads.emplace_back([&durations, number] {
      for (int i = 0; i < rounds; ++i) durations.add(3ms, trace_of(number), noon + std::chrono::seconds{i});
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(durations.read().count() == 4 * rounds);
  const Exemplar exemplar = durations.read().exemplars.at(1).value();
  CHECK(exemplar.trace_id == trace_of(exemplar.span_id.front()).trace_id);
}
