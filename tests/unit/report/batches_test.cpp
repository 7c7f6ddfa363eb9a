// Which reports go together, and which attempts the worker holds for them. By examples, and in every sequence of
// reports, takings and results up to a length.
#include "report/core/batches.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "support/catch.hpp"

using namespace dogged;
using namespace dogged::runtime;
using Resend = ReportBatches::Resend;

namespace {

constexpr ReportBatches::Limits usual{};

Report report_with(TaskId id, std::size_t bytes, int attempt = 1) {
  Report one;
  one.id = id;
  one.attempt = attempt;
  one.result_json = std::string(bytes, '1');
  return one;
}

Report report(TaskId id) { return report_with(id, 0); }

Report on_record(TaskId id, int attempt = 1) {
  Report one = report_with(id, 0, attempt);
  one.record = Record::on_record;
  return one;
}

std::vector<TaskId> ids_of(const std::vector<Report>& reports) {
  std::vector<TaskId> ids;
  for (const Report& one : reports) ids.push_back(one.id);
  return ids;
}

std::vector<TaskId> held_ids(const ReportBatches& batches) {
  std::vector<TaskId> ids;
  for (const Attempt& attempt : batches.held()) ids.push_back(attempt.id);
  return ids;
}

// The walk has three tasks: a small one, a large one, and a third. The attempts of the third end on record (as a
// handler that waits for an event) or with a report. A batch has room for two reports, or for the large one and no
// more.

using AttemptKey = std::pair<TaskId, int>;  // an attempt

constexpr ReportBatches::Limits small{.reports = 2, .bytes = 10};
constexpr TaskId large_task = 2;
constexpr TaskId waiting_task = 3;

enum class ReportPlace { waiting, in_flight, written };

struct KnownReport {
  ReportPlace place = ReportPlace::waiting;
  bool is_on_record = false;
  bool was_sent = false;    // once or more
  bool is_settled = false;  // while its batch is in flight
};

enum class BatchEvent { small, large, waits, resumes, take, settle, write_all, keep_first, keep_all };
constexpr BatchEvent all_events[] = {BatchEvent::small,     BatchEvent::large,      BatchEvent::waits,
                                     BatchEvent::resumes,   BatchEvent::take,       BatchEvent::settle,
                                     BatchEvent::write_all, BatchEvent::keep_first, BatchEvent::keep_all};

struct BatchesWorld {
  ReportBatches batches{small};
  std::map<AttemptKey, KnownReport> reports = {};
  std::vector<Report> in_flight = {};
  bool is_in_flight = false;
  std::string trace = {};

  [[nodiscard]] bool is_held(const KnownReport& known) const {
    return !known.is_on_record &&
           (known.place == ReportPlace::waiting || (known.place == ReportPlace::in_flight && !known.is_settled));
  }

  [[nodiscard]] std::vector<Report> unsettled() const {
    std::vector<Report> left;
    for (const Report& one : in_flight) {
      if (is_held(reports.at({one.id, one.attempt}))) left.push_back(one);
    }
    return left;
  }

  /// A task is claimed anew once its last attempt may be on record.
  [[nodiscard]] bool may_report(TaskId id) const {
    return std::all_of(reports.begin(), reports.end(), [&](const auto& entry) {
      const auto& [key, known] = entry;
      return key.first != id || known.is_on_record || known.was_sent;
    });
  }

  [[nodiscard]] bool is_possible(BatchEvent event) const {
    switch (event) {
      case BatchEvent::small:
        return may_report(1);
      case BatchEvent::large:
        return may_report(large_task);
      case BatchEvent::waits:
      case BatchEvent::resumes:
        return may_report(waiting_task);
      case BatchEvent::take:
        return !is_in_flight && batches.has_waiting();
      case BatchEvent::write_all:
        return is_in_flight;
      case BatchEvent::keep_all:
        return !unsettled().empty();
      case BatchEvent::settle:
      case BatchEvent::keep_first:
        return unsettled().size() > 1;
    }
    return false;
  }

  void add(TaskId id, bool is_on_record) {
    int attempt = 1;
    while (reports.contains({id, attempt})) ++attempt;
    reports[{id, attempt}] = {.is_on_record = is_on_record};
    batches.add(is_on_record ? on_record(id, attempt) : report_with(id, id == large_task ? small.bytes : 1, attempt));
  }

  void take() {
    in_flight = batches.take();
    is_in_flight = true;
    REQUIRE_FALSE(in_flight.empty());
    REQUIRE(in_flight.size() <= small.reports);
    std::set<TaskId> sent;
    std::size_t bytes = 0;
    for (const Report& one : in_flight) {
      KnownReport& known = reports.at({one.id, one.attempt});
      REQUIRE(known.place == ReportPlace::waiting);  // so it is in no other batch
      known.place = ReportPlace::in_flight;
      known.was_sent = true;
      bytes += one.result_json.size();
      if (one.record != Record::on_record) REQUIRE(sent.insert(one.id).second);
    }
    REQUIRE((bytes <= small.bytes || in_flight.size() == 1));
  }

  void settle_first() {
    std::vector<Attempt> left;
    for (const Report& one : unsettled()) left.push_back({one.id, one.attempt});
    reports.at({left.front().id, left.front().number}).is_settled = true;
    left.erase(left.begin());
    batches.on_unsettled(left);
  }

  void write(std::vector<Report> again) {
    for (const Report& one : in_flight) reports.at({one.id, one.attempt}).place = ReportPlace::written;
    for (const Report& one : again) reports.at({one.id, one.attempt}).place = ReportPlace::waiting;
    const std::vector<Report> kept = again;
    const bool was_empty = !batches.has_waiting();
    const Resend resend = batches.on_written(std::move(again));
    REQUIRE((resend == Resend::none) == kept.empty());
    if (was_empty && !kept.empty()) REQUIRE(resend == Resend::next);
    in_flight.clear();
    is_in_flight = false;
    for (auto& [key, known] : reports) known.is_settled = false;
  }

  void act(BatchEvent event) {
    switch (event) {
      case BatchEvent::small:
        return add(1, false);
      case BatchEvent::large:
        return add(large_task, false);
      case BatchEvent::waits:
        return add(waiting_task, true);
      case BatchEvent::resumes:
        return add(waiting_task, false);
      case BatchEvent::take:
        return take();
      case BatchEvent::settle:
        return settle_first();
      case BatchEvent::write_all:
        return write({});
      case BatchEvent::keep_first:
        return write({unsettled().front()});
      case BatchEvent::keep_all:
        return write(unsettled());
    }
  }

  void check() const {
    std::set<AttemptKey> held;
    for (const Attempt& attempt : batches.held()) REQUIRE(held.insert({attempt.id, attempt.number}).second);
    std::set<AttemptKey> expected;
    std::size_t size = 0;
    bool some_wait = false;
    for (const auto& [key, known] : reports) {
      if (is_held(known)) expected.insert(key);
      if (is_held(known) || known.place == ReportPlace::waiting) ++size;
      some_wait = some_wait || known.place == ReportPlace::waiting;
    }
    REQUIRE(held == expected);
    REQUIRE(batches.size() == size);
    REQUIRE(batches.has_waiting() == some_wait);
    REQUIRE(batches.is_empty() == (!some_wait && !is_in_flight));
  }

  /// Writes all that is left.
  void drain() {
    if (is_in_flight) write({});
    while (batches.has_waiting()) {
      take();
      write({});
    }
    for (const auto& [key, known] : reports) REQUIRE(known.place == ReportPlace::written);
  }
};

/// Gives how many sequences there are.
int walk(const BatchesWorld& world, int depth) {
  INFO(world.trace);
  world.check();
  if (depth == 0) {
    BatchesWorld{world}.drain();
    return 1;
  }
  int sequences = 0;
  for (const BatchEvent event : all_events) {
    if (!world.is_possible(event)) continue;
    BatchesWorld next = world;
    next.trace += static_cast<char>('a' + static_cast<int>(event));
    next.act(event);
    sequences += walk(next, depth - 1);
  }
  return sequences;
}

}  // namespace

TEST_CASE(
    "in all sequences no report is lost, none is in two batches, no batch has two reports of a task, and no attempt is "
    "held that is on record",
    "[one_thread]") {
  CHECK(walk(BatchesWorld{}, 8) > 50'000);
}

TEST_CASE("a batch has at most a thousand reports, and no more of what handlers gave than a statement can carry") {
  ReportBatches many;
  for (TaskId id = 1; id <= 1001; ++id) many.add(report(id));
  CHECK(many.take().size() == usual.reports);

  ReportBatches large;
  for (TaskId id = 1; id <= 3; ++id) large.add(report_with(id, usual.bytes / 2));
  CHECK(large.take().size() == 2);
  CHECK(large.on_written({}) == Resend::none);

  ReportBatches too_large;
  too_large.add(report_with(1, 2 * usual.bytes));
  too_large.add(report(2));
  CHECK(too_large.take().size() == 1);
}

TEST_CASE("an attempt that is on record already is not held, neither while it waits nor in flight") {
  ReportBatches batches;
  batches.add(on_record(1));
  batches.add(report(2));
  CHECK(held_ids(batches) == std::vector<TaskId>{2});
  CHECK(ids_of(batches.take()) == std::vector<TaskId>{1, 2});
  CHECK(held_ids(batches) == std::vector<TaskId>{2});
}

TEST_CASE("an attempt is not held once a part of its batch has recorded it") {
  ReportBatches batches;
  for (const TaskId id : {1, 2, 3}) batches.add(report(id));
  CHECK(batches.take().size() == 3);
  batches.add(report(4));
  batches.on_unsettled({{2, 1}, {3, 1}});
  CHECK(held_ids(batches) == std::vector<TaskId>{2, 3, 4});
  CHECK(batches.size() == 3);
}

TEST_CASE("a batch of attempts that are all on record is in flight until it is written") {
  ReportBatches batches;
  batches.add(on_record(1));
  CHECK(batches.take().size() == 1);
  CHECK_FALSE(batches.has_waiting());
  CHECK_FALSE(batches.is_empty());
  CHECK(batches.on_written({}) == Resend::none);
  CHECK(batches.is_empty());
}

TEST_CASE(
    "a batch has one report of each task, also where a task was claimed again before an earlier report is sent again") {
  ReportBatches batches;
  batches.add(report(1));
  batches.add(report(2));
  CHECK(ids_of(batches.take()) == std::vector<TaskId>{1, 2});
  batches.add(report(3));
  batches.add(report(2));
  batches.add(report(4));
  CHECK(batches.on_written({report(1), report(2)}) == Resend::second);
  CHECK(ids_of(batches.take()) == std::vector<TaskId>{3, 2, 4});
  CHECK(batches.on_written({}) == Resend::none);
  CHECK(ids_of(batches.take()) == std::vector<TaskId>{1, 2});
  CHECK(batches.on_written({report(1)}) == Resend::next);
  batches.add(report(5));
  batches.add(report(1));
  CHECK(ids_of(batches.take()) == std::vector<TaskId>{1, 5});
  CHECK(batches.on_written({}) == Resend::none);
  CHECK(ids_of(batches.take()) == std::vector<TaskId>{1});
}

TEST_CASE(
    "a batch has no more of what handlers gave than a statement can carry, also with reports that are sent again") {
  constexpr std::size_t half = usual.bytes / 2;
  ReportBatches batches;
  batches.add(report_with(1, half));
  CHECK(ids_of(batches.take()) == std::vector<TaskId>{1});
  batches.add(report_with(2, half + 1));
  CHECK(batches.on_written({report_with(1, half)}) == Resend::second);
  CHECK(ids_of(batches.take()) == std::vector<TaskId>{2});
  CHECK(batches.on_written({}) == Resend::none);
  batches.add(report_with(3, half + 1));
  CHECK(ids_of(batches.take()) == std::vector<TaskId>{1});
}

TEST_CASE(
    "reports that are sent again and again do not hold up the others, nor the others them, if no batch has room") {
  constexpr TaskId last_locked = usual.reports;
  ReportBatches batches;
  for (TaskId id = 1; id <= last_locked; ++id) batches.add(report(id));
  std::vector<Report> locked = batches.take();
  REQUIRE(locked.size() == usual.reports);
  TaskId last = last_locked;
  for (int sendings = 0; sendings < 6; ++sendings) {
    while (last < last_locked + 1000 * (sendings + 2)) batches.add(report(++last));
    const Resend expected = locked.empty() ? Resend::none : Resend::second;
    CHECK(batches.on_written(std::exchange(locked, {})) == expected);
    CHECK(batches.held().size() == batches.size());
    std::vector<Report> batch = batches.take();
    CHECK(batch.size() == usual.reports);
    const bool is_resent = sendings % 2 == 1;
    CHECK(std::all_of(batch.begin(), batch.end(),
                      [&](const Report& one) { return (one.id <= last_locked) == is_resent; }));
    if (is_resent) locked = std::move(batch);
  }
}

TEST_CASE("one batch is in flight at a time") {
  ReportBatches batches;
  CHECK(batches.take().empty());
  CHECK_THROWS_AS(batches.on_written({}), std::logic_error);
  CHECK_THROWS_AS(batches.on_unsettled({}), std::logic_error);
  batches.add(report(1));
  CHECK(batches.take().size() == 1);
  CHECK_THROWS_AS(batches.take(), std::logic_error);
}
