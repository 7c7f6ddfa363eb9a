// Clients wait for the ends of tasks, in simulated time.
#include "report/awaited.hpp"

#include <algorithm>
#include <map>
#include <vector>

#include "support/catch.hpp"
#include "support/virtual_time.hpp"

using namespace std::chrono_literals;
using namespace dogged::runtime;
using dogged::TaskId;
using dogged::test::start;

namespace {

constexpr int awaited_events = 6;

/// Clients that wait for the tasks 1 and 2, and the completer: an event for each digit.
class AwaitedRun {
 public:
  void act(int event) {
    switch (event) {
      case 0:
        return note(1);
      case 1:
        return note(2);
      case 2:
        return end({1});
      case 3:
        return end({3, 2, 1});
      case 4:
        now_ += 10s;
        return;
      default:
        now_ += 25s;
    }
  }

  void end(const std::vector<TaskId>& ended) {
    const std::vector<TaskId> told = awaited_.take(ended);
    for (const TaskId id : ended) {
      const bool is_told = std::count(told.begin(), told.end(), id) == 1;
      const auto noted = noted_.find(id);
      if (noted == noted_.end()) {
        REQUIRE_FALSE(is_told);
        continue;
      }
      if (now_ <= noted->second + 30s) REQUIRE(is_told);              // the client may wait still
      if (last_note_ >= noted->second + 60s) REQUIRE_FALSE(is_told);  // forgotten: the memory stays bounded
      noted_.erase(noted);
    }
    REQUIRE(told.size() <= ended.size());
    if (noted_.empty()) REQUIRE_FALSE(awaited_.any());
  }

 private:
  void note(TaskId id) {
    awaited_.note(id, now_);
    noted_[id] = last_note_ = now_;
    REQUIRE(awaited_.any());
  }

  Awaited awaited_;
  TimePoint now_ = start;
  std::map<TaskId, TimePoint> noted_;  // and not ended since
  TimePoint last_note_{};
};

std::vector<TaskId> ids_up_to(TaskId last) {
  std::vector<TaskId> ids;
  for (TaskId id = 1; id <= last; ++id) ids.push_back(id);
  return ids;
}

}  // namespace

TEST_CASE(
    "in all sequences of waits, ends and pauses, a client that has said within 30 s that it waits is told of the end "
    "once, and no wait is remembered for long",
    "[one_thread]") {
  constexpr int length = 6;
  int sequences = 1;
  for (int i = 0; i < length; ++i) sequences *= awaited_events;
  for (int sequence = 0; sequence < sequences; ++sequence) {
    CAPTURE(sequence);
    AwaitedRun run;
    for (int rest = sequence, i = 0; i < length; ++i, rest /= awaited_events) run.act(rest % awaited_events);
    run.end({1, 2});
  }
}

TEST_CASE("a wait is remembered for 30 s, and the first wait after a minute makes the worker forget it") {
  Awaited awaited;
  awaited.note(1, start);
  awaited.note(2, start + 30s);
  CHECK(awaited.take({1}) == std::vector<TaskId>{1});
  awaited.note(3, start + 60s);
  awaited.note(4, start + 60s + 1ms);
  awaited.note(5, start + 120s);
  CHECK(awaited.take({2, 3, 4, 5}) == std::vector<TaskId>{5});
  CHECK_FALSE(awaited.any());
}

TEST_CASE("ten thousand tasks are awaited at most, waits that are known are renewed, and an end makes room") {
  Awaited awaited;
  const std::vector<TaskId> first = ids_up_to(10'000);
  for (const TaskId id : first) awaited.note(id, start);
  awaited.note(10'001, start);
  CHECK(awaited.take({10'001}).empty());
  for (const TaskId id : first) awaited.note(id, start + 10s);
  awaited.note(10'001, start + 35s);  // those of the start would be forgotten now
  CHECK(awaited.take({10'001}).empty());
  CHECK(awaited.take({7, 7}) == std::vector<TaskId>{7});
  awaited.note(10'002, start + 35s);
  CHECK(awaited.take({10'002}) == std::vector<TaskId>{10'002});
  CHECK(awaited.take(first).size() == 9'999);
  CHECK_FALSE(awaited.any());
}

TEST_CASE("after a crowd of clients that wait no more, others are remembered") {
  Awaited awaited;
  for (const TaskId id : ids_up_to(10'000)) awaited.note(id, start);
  awaited.note(10'001, start + 30s + 1ms);
  CHECK(awaited.take({1, 10'001}) == std::vector<TaskId>{10'001});
  CHECK_FALSE(awaited.any());
}
