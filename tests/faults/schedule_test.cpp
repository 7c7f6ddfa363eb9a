// The schedule is pure: a seed is all that a run needs to be told to do the same again.
#include "schedule.hpp"

#include <algorithm>
#include <map>

#include "support/catch.hpp"

using namespace dogged;
using namespace dogged::faults;

namespace {

ScheduleSettings an_hour(std::uint64_t seed) { return {.seed = seed, .duration = milliseconds{3'600'000}}; }

}  // namespace

TEST_CASE("a seed repeats its schedule, and another one makes another") {
  CHECK(make_schedule(an_hour(1)) == make_schedule(an_hour(1)));
  CHECK(make_schedule(an_hour(1)) != make_schedule(an_hour(2)));
}

TEST_CASE("a longer run begins as a shorter one of the same seed") {
  ScheduleSettings shorter = an_hour(3);
  shorter.duration = milliseconds{60'000};
  const std::vector<Event> few = make_schedule(shorter);
  const std::vector<Event> many = make_schedule(an_hour(3));
  REQUIRE(many.size() > few.size());
  CHECK(std::equal(few.begin(), few.end(), many.begin()));
}

TEST_CASE("every fault comes, in the order of time, and meets a worker that there is") {
  std::map<Fault, int> times;
  const ScheduleSettings settings = an_hour(4);
  milliseconds before{0};
  for (const Event& event : make_schedule(settings)) {
    CHECK(event.at >= before);
    CHECK(event.at < settings.duration);
    CHECK(event.worker >= 0);
    CHECK(event.worker < settings.workers);
    before = event.at;
    ++times[event.fault];
  }
  CHECK(times.size() == all_faults().size());
}

TEST_CASE("no two faults meet a worker at once, nor the server") {
  std::map<int, milliseconds> free_at;  // -1: the server
  for (const Event& event : make_schedule(an_hour(5))) {
    milliseconds& free = free_at[is_of_server(event.fault) ? -1 : event.worker];
    CHECK(event.at >= free);
    free = event.at + event.lasts;
  }
}

TEST_CASE("workers are paused and cut off for less than their lease and for longer") {
  ScheduleSettings settings = an_hour(6);
  settings.faults = {Fault::pause_worker, Fault::partition};
  const std::vector<Event> events = make_schedule(settings);
  const auto outlasts_lease = [&](const Event& event) { return event.lasts > settings.lease; };
  CHECK(std::any_of(events.begin(), events.end(), outlasts_lease));
  CHECK(!std::all_of(events.begin(), events.end(), outlasts_lease));
}

TEST_CASE("only the faults that were asked for come") {
  ScheduleSettings settings = an_hour(7);
  settings.faults = {Fault::cut};
  for (const Event& event : make_schedule(settings)) CHECK(event.fault == Fault::cut);
}

TEST_CASE("a fault is named as it is written, and a name that is none is refused with those that there are") {
  for (Fault fault : all_faults()) CHECK(fault_from_text(to_text(fault)) == fault);
  CHECK_THROWS_WITH(fault_from_text("kill"), Catch::Contains("\"kill\"") && Catch::Contains("kill_postmaster"));
}

TEST_CASE("an event is written with its time, its fault, whom it meets and how long") {
  CHECK(to_text({milliseconds{1250}, Fault::pause_worker, 2, milliseconds{3100}}) ==
        "1.250 s  pause_worker worker 2 for 3s100ms");
  CHECK(to_text({milliseconds{61'007}, Fault::kill_postmaster, 0, milliseconds{0}}) == "61.007 s  kill_postmaster");
}

TEST_CASE("a key and a seed give the same task, and every kind of task comes") {
  std::map<std::string, int> kinds;
  for (std::int64_t key = 1; key <= 5000; ++key) {
    const NewTask task = planned_task(8, key);
    CHECK(task.args_json == planned_task(8, key).args_json);
    CHECK(nlohmann::json::parse(task.args_json).get<Plan>().key == key);
    ++kinds[task.name];
  }
  CHECK(kinds.size() == 9);  // all but `rough`, which is for scenarios
}
