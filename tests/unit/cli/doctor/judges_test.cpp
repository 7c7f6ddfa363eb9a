// The judgements of `dogged doctor`: every threshold from both sides.
#include "cli/doctor/core/judges.hpp"

#include <algorithm>

#include "support/catch.hpp"
#include "support/contains.hpp"

using namespace std::chrono_literals;
using namespace dogged;
using namespace dogged::cli;
using namespace dogged::cli::doctor;
using dogged::test::contains;

namespace {

Level worst(const Findings& findings) {
  Level level = Level::ok;
  for (const Finding& finding : findings) level = std::max(level, finding.level);
  return level;
}

SnapshotFacts session(microseconds held, std::int64_t transactions = 1) {
  return {.kind = "session",
          .name = "77",
          .user = "app",
          .application = "report",
          .transactions = transactions,
          .held = held};
}

}  // namespace

TEST_CASE("a finding that is not ok says why it matters and what to do, one that is ok is single") {
  const Findings bad[] = {
      judge_partitions({{"tasks_done", 1, 1, 1, 1}}),
      judge_tables({{"tasks_live", 0, 10'000'000, 1 << 30, false, false}}, "dogged"),
      judge_snapshots({session(2h)}),
      judge_workers({{.id = 1, .name = "a", .version = "1", .held_tasks = 1, .lapsed = 2h}}),
      judge_workers({{.id = 1, .name = "a", .version = "1", .holds_lease = true, .abandoned_threads = 1}}),
      judge_versions({{.id = 1, .name = "a", .version = "1", .is_live = true}}, "2"),
      judge_waiting({{.queue = "q", .name = "n", .due = 1}}),
      judge_overdue(
          {{.queue = "q", .name = "n", .due = 1, .overdue = 1, .is_queue_served = true, .is_name_known = true}}),
      judge_running({{.name = "n", .is_orphaned = true, .tasks = 1}}),
      judge_snoozes({{.name = "n", .tasks = 1, .most = 500, .most_id = 7}}),
      judge_schedules({{.name = "n",
                        .task = "t",
                        .state = "orphaned",
                        .overdue = 2min,
                        .paused = 8 * 24h,
                        .ahead = 1us,
                        .is_task_known = false,
                        .missed = 1,
                        .refused = 1,
                        .refusal = "full",
                        .latest = 11s}}),
      judge_durability({.has_fsync = false, .has_full_page_writes = false, .synchronous_commit = "off"}),
      judge_connections({.max_connections = 100, .connections = 96}),
      judge_wraparound({.oldest_transaction = 2'000'000'000}),
      judge_clock(1h, 1ms),
      judge_indexes({{"i", "t"}}),
      judge_retention({{.keep_done_days = 8, .keep_failed_days = 7}}),
      judge_locks({.locks_of_lookup = 2000}),
      judge_schema({"0009_x"}, {"views"}, "newer")};
  for (const Findings& findings : bad) {
    for (const Finding& finding : findings) {
      INFO(finding.check << ": " << finding.seen);
      CHECK(finding.level != Level::ok);
      CHECK_FALSE(finding.why.empty());
      CHECK_FALSE(finding.fix.empty());
    }
  }
  const Findings good[] = {
      judge_partitions({{"tasks_done", 0, 0, 0, 0}}),
      judge_tables({{"tasks_live"}}, "dogged"),
      judge_snapshots({}),
      judge_workers({}),
      judge_versions({}, "1"),
      judge_waiting({}),
      judge_overdue({}),
      judge_running({}),
      judge_snoozes({{.name = "n", .tasks = 9, .most = 499, .most_id = 7}}),
      judge_schedules({{.name = "n", .state = "active", .overdue = 1min, .latest = 10s},
                       {.name = "p", .state = "paused", .paused = 7 * 24h, .is_task_known = false}}),
      judge_durability({}),
      judge_connections({}),
      judge_wraparound({}),
      judge_clock(0us, 1ms),
      judge_indexes({}),
      judge_retention({{}}),
      judge_locks({}),
      judge_schema({}, {}, std::nullopt)};
  for (const Findings& findings : good) {
    REQUIRE(findings.size() == 1);
    CHECK(findings[0].level == Level::ok);
  }
}

TEST_CASE("a transaction is a warning from five minutes on, and critical from an hour on") {
  CHECK(worst(judge_snapshots({session(299s)})) == Level::ok);
  CHECK(worst(judge_snapshots({session(300s)})) == Level::warning);
  CHECK(worst(judge_snapshots({session(3599s)})) == Level::warning);
  const Findings findings = judge_snapshots({session(1h), session(1s)});
  REQUIRE(findings.size() == 1);
  CHECK(findings[0].level == Level::critical);
  CHECK(contains(findings[0].seen, "pid 77, user app, application \"report\""));
  CHECK(contains(findings[0].fix, "pg_terminate_backend(77)"));
}

TEST_CASE("an old snapshot without a time is judged by the transactions since") {
  const auto slot = [](std::int64_t transactions) {
    return SnapshotFacts{.kind = "slot", .name = "s", .state = "active", .transactions = transactions};
  };
  CHECK(worst(judge_snapshots({slot(999'999)})) == Level::ok);
  CHECK(worst(judge_snapshots({slot(1'000'000)})) == Level::warning);
  CHECK(worst(judge_snapshots({slot(20'000'000)})) == Level::critical);
}

TEST_CASE("an inactive slot that keeps more than a GiB of WAL is a warning, an active one is not") {
  const auto slot = [](const char* state, std::int64_t bytes) {
    return SnapshotFacts{.kind = "slot", .name = "s", .state = state, .wal_bytes = bytes};
  };
  CHECK(worst(judge_snapshots({slot("inactive", (std::int64_t{1} << 30) + 1)})) == Level::warning);
  CHECK(worst(judge_snapshots({slot("inactive", std::int64_t{1} << 30)})) == Level::ok);
  CHECK(worst(judge_snapshots({slot("active", std::int64_t{2} << 30)})) == Level::ok);
}

TEST_CASE("prepared transactions and standbys are named with what ends them") {
  const Findings prepared = judge_snapshots({{.kind = "prepared", .name = "tx1", .user = "app", .held = 2h}});
  CHECK(contains(prepared[0].fix, "rollback prepared 'tx1'"));
  const Findings standby = judge_snapshots({{.kind = "standby", .name = "5", .transactions = 2'000'000}});
  CHECK(contains(standby[0].fix, "hot_standby_feedback"));
}

TEST_CASE("sessions that cannot be seen are mentioned") {
  const Findings findings = judge_snapshots({{.kind = "hidden", .name = "12"}});
  CHECK(findings[0].level == Level::ok);
  CHECK(contains(findings[0].seen, "12 sessions of other roles cannot be seen"));
}

TEST_CASE("dead rows count where they are many, and more than the live ones") {
  const auto level = [](std::int64_t live, std::int64_t dead) {
    return worst(judge_tables({{.name = "tasks_live", .live_rows = live, .dead_rows = dead}}, "dogged"));
  };
  CHECK(level(0, 100'000) == Level::ok);
  CHECK(level(0, 100'001) == Level::warning);
  CHECK(level(1'000'000, 500'000) == Level::ok);
  CHECK(level(1'000'000, 5'000'000) == Level::warning);
  CHECK(level(1'000'000, 5'000'001) == Level::critical);
}

TEST_CASE("a table is blown up where its size fits no number of live rows") {
  const auto level = [](std::int64_t live, std::int64_t bytes) {
    return worst(judge_tables({{.name = "tasks_live", .live_rows = live, .bytes = bytes}}, "dogged"));
  };
  CHECK(level(0, std::int64_t{64} << 20) == Level::ok);
  CHECK(level(0, std::int64_t{65} << 20) == Level::warning);
  CHECK(level(1'000'000, std::int64_t{4} << 30) == Level::ok);
  CHECK(level(1'000, std::int64_t{4} << 30) == Level::warning);
}

TEST_CASE("a lapsed lease is no trouble before other workers had time to end it") {
  const auto level = [](microseconds lapsed, std::int64_t held) {
    return worst(judge_workers({{.id = 1, .name = "a", .lease = 30s, .held_tasks = held, .lapsed = lapsed}}));
  };
  CHECK(level(90s, 5) == Level::ok);
  CHECK(level(91s, 0) == Level::warning);
  CHECK(level(91s, 5) == Level::critical);
}

TEST_CASE("tasks of a queue without a worker are one finding, whatever their names") {
  const Findings findings =
      judge_waiting({{.queue = "mail", .name = "a", .due = 2, .oldest = 5s},
                     {.queue = "mail", .name = "b", .due = 3, .oldest = 9s},
                     {.queue = "web", .name = "c", .due = 1, .is_queue_served = true},
                     {.queue = "web", .name = "d", .due = 1, .is_queue_served = true, .is_name_known = true}});
  REQUIRE(findings.size() == 2);
  CHECK(contains(findings[0].seen, "1 task named c in queue web"));
  CHECK(contains(findings[1].seen, "5 tasks in queue mail waited for up to 9"));
}

TEST_CASE("tasks that no live worker can run are critical once a deploy had time to restart a worker") {
  const auto level = [](WaitingFacts facts, microseconds oldest) {
    facts.oldest = oldest;
    return worst(judge_waiting({facts}));
  };
  const WaitingFacts cases[] = {{.queue = "mail", .name = "a", .due = 1},
                                {.queue = "mail", .name = "a", .due = 1, .is_declared = false},
                                {.queue = "mail", .name = "a", .due = 1, .is_queue_served = true},
                                {.queue = "mail",
                                 .name = "a",
                                 .due = 1,
                                 .is_queue_served = true,
                                 .is_name_known = true,
                                 .args_version = 2,
                                 .known_args_version = 1}};
  for (const WaitingFacts& facts : cases) {
    CHECK(level(facts, 30s - 1us) == Level::warning);
    CHECK(level(facts, 30s) == Level::critical);
  }
}

TEST_CASE("a name that no worker has ever declared is a finding of its own, with the near name") {
  const Findings findings = judge_waiting(
      {{.queue = "mail", .name = "send", .due = 2},
       {.queue = "mail", .name = "sedn", .due = 1, .is_declared = false, .near = " (did you mean \"send\"?)"}});
  REQUIRE(findings.size() == 2);
  CHECK(contains(findings[0].seen, "1 task named sedn in queue mail"));
  CHECK(contains(findings[0].seen, "no worker has ever declared the name (did you mean \"send\"?)"));
  CHECK(contains(findings[0].fix, "--name sedn -o ndjson | jq .id | dogged tasks cancel -"));
  CHECK(contains(findings[1].seen, "2 tasks in queue mail"));
}

TEST_CASE("a paused queue is a warning while due tasks wait in it, and its workers are not to blame") {
  const std::vector<WaitingFacts> paused{{.queue = "mail",
                                          .name = "a",
                                          .due = 2,
                                          .overdue = 2,
                                          .oldest = 5s,
                                          .is_queue_served = true,
                                          .is_name_known = true,
                                          .is_paused = true,
                                          .resumes_in = 90s},
                                         {.queue = "mail",
                                          .name = "b",
                                          .due = 1,
                                          .is_queue_served = true,
                                          .is_name_known = true,
                                          .is_paused = true,
                                          .resumes_in = 90s}};
  const Findings findings = judge_waiting(paused);
  REQUIRE(findings.size() == 1);
  CHECK(findings[0].level == Level::warning);
  CHECK(contains(findings[0].seen, "3 tasks in queue mail waited for up to 5 s: the queue is paused"));
  CHECK(contains(findings[0].why, "for another 1 m 30 s"));
  CHECK(findings[0].fix == "dogged queues resume mail");
  CHECK(worst(judge_overdue(paused)) == Level::ok);
}

TEST_CASE("missing partitions are critical where tomorrow's is one of them") {
  CHECK(worst(judge_partitions({{"tasks_done", 3, 0, 0, 0}})) == Level::warning);
  CHECK(worst(judge_partitions({{"tasks_done", 3, 1, 0, 0}})) == Level::critical);
}

TEST_CASE("a clock's difference counts beyond what the measuring leaves open") {
  CHECK(worst(judge_clock(1s, 0us)) == Level::ok);
  CHECK(worst(judge_clock(-1100ms, 0us)) == Level::warning);
  CHECK(worst(judge_clock(-1100ms, 200ms)) == Level::ok);
}

TEST_CASE("the clocks of live workers count, once for each host, beyond what the measuring leaves open") {
  const auto worker = [](const char* host, std::optional<microseconds> ahead, microseconds uncertainty = 1ms) {
    return WorkerFacts{
        .id = 1, .name = "a", .host = host, .is_live = true, .clock_ahead = ahead, .clock_uncertainty = uncertainty};
  };
  CHECK(judge_worker_clocks({worker("h", 1s), worker("i", std::nullopt), worker("j", 5s, 4s)}).empty());
  WorkerFacts gone = worker("h", 1h);
  gone.is_live = false;
  CHECK(judge_worker_clocks({gone}).empty());
  const Findings findings = judge_worker_clocks({worker("h", -5s), worker("h", 0us), worker("i", 0us)});
  REQUIRE(findings.size() == 1);
  CHECK(findings[0].level == Level::warning);
  CHECK(findings[0].subject == "host h");
  CHECK(contains(findings[0].seen, "host h of worker a is 5"));
  CHECK(contains(findings[0].seen, "behind the server's"));
}

TEST_CASE("dead letters that go before what went well are a warning with the days to set") {
  CHECK(worst(judge_retention({{.keep_done_days = 90, .keep_failed_days = 90}})) == Level::ok);
  const Findings findings = judge_retention({{.keep_done_days = 90, .keep_failed_days = 89}});
  CHECK(findings[0].level == Level::warning);
  CHECK(contains(findings[0].fix, "keep_failed_days = 90"));
}

TEST_CASE("a queue's own days are judged as those of all, and are a warning where they have no effect") {
  const RetentionFacts all{.keep_done_days = 30, .keep_failed_days = 90};
  const RetentionFacts good{.queue = "a", .keep_done_days = 60, .keep_failed_days = 90, .own_done_days = 60};
  REQUIRE(judge_retention({all, good}).size() == 1);
  CHECK(worst(judge_retention({all, good})) == Level::ok);

  const RetentionFacts contradiction{.queue = "b", .keep_done_days = 365, .keep_failed_days = 90, .own_done_days = 365};
  const Findings findings = judge_retention({all, contradiction});
  REQUIRE(findings.size() == 2);
  CHECK(contains(findings[1].seen, "dead letters of the queue b are kept for 90 days, what ended otherwise for 365"));
  CHECK(findings[1].fix == "dogged queues set b --keep-failed-days 365");

  const RetentionFacts useless{.queue = "c", .keep_done_days = 30, .keep_failed_days = 90, .own_done_days = 20};
  const Findings seen = judge_retention({all, useless});
  REQUIRE(seen.size() == 2);
  CHECK(contains(seen[1].seen, "keep_done_days of the queue c is 20 and has no effect: that of all queues is 30"));
  CHECK(contains(seen[1].fix, "--keep-done-days none"));
}

TEST_CASE("an open circuit is a warning, which says whether a hand or a success closes it") {
  const auto circuit = [](CircuitState state, bool is_forced) {
    return std::vector<CircuitFacts>{
        {.name = "smtp", .state = state, .is_forced = is_forced, .for_so_long = 1h, .tasks = {"send", "remind"}}};
  };
  CHECK(worst(judge_circuits(circuit(CircuitState::closed, false))) == Level::ok);
  CHECK(worst(judge_circuits(circuit(CircuitState::half_open, false))) == Level::ok);
  const Findings by_itself = judge_circuits(circuit(CircuitState::open, false));
  REQUIRE(by_itself.size() == 1);
  CHECK(by_itself[0].level == Level::warning);
  CHECK(contains(by_itself[0].seen, "the circuit smtp has been open for 1 h"));
  CHECK(contains(by_itself[0].why, "send, remind"));
  CHECK(contains(by_itself[0].fix, "closes by itself"));
  CHECK(contains(judge_circuits(circuit(CircuitState::open, true))[0].fix, "dogged circuits close smtp"));
}

TEST_CASE("a queue that retries half of its attempts is a warning from 100 attempts on") {
  const auto load = [](std::int64_t attempts, double share) {
    return std::vector<LoadFacts>{{.queue = "mail", .attempts = attempts, .retry_share = share}};
  };
  CHECK(worst(judge_retries(load(99, 1.0))) == Level::ok);
  CHECK(worst(judge_retries(load(1'000, 0.499))) == Level::ok);
  const Findings findings = judge_retries(load(100, 0.5));
  REQUIRE(findings.size() == 1);
  CHECK(findings[0].level == Level::warning);
  CHECK(contains(findings[0].seen, "50 % of the 100 attempts of queue mail"));
}

TEST_CASE("a storm is ahead where more retries fall due in five minutes than attempts ended in five") {
  const auto load = [](std::int64_t retries_due, std::int64_t attempts) {
    return std::vector<LoadFacts>{{.queue = "mail", .attempts = attempts, .retries_due = retries_due}};
  };
  CHECK(worst(judge_storms(load(99, 0))) == Level::ok);
  CHECK(worst(judge_storms(load(5'000, 5'000))) == Level::ok);
  CHECK(worst(judge_storms(load(100, 0))) == Level::warning);
  const Findings findings = judge_storms(load(5'001, 5'000));
  CHECK(findings[0].level == Level::warning);
  CHECK(contains(findings[0].seen, "5001 retries of queue mail fall due within five minutes"));
}

TEST_CASE("dead letters grow where an hour has ten of them, and ten times as many as an hour of the day before") {
  const auto letters = [](std::int64_t last_hour, std::int64_t day_before) {
    return std::vector<DeadLetterFacts>{{.name = "send", .last_hour = last_hour, .day_before = day_before}};
  };
  CHECK(worst(judge_dead_letters({})) == Level::ok);
  CHECK(worst(judge_dead_letters(letters(9, 0))) == Level::ok);
  CHECK(worst(judge_dead_letters(letters(10, 25))) == Level::ok);
  const Findings findings = judge_dead_letters(letters(10, 24));
  REQUIRE(findings.size() == 1);
  CHECK(findings[0].level == Level::warning);
  CHECK(contains(findings[0].seen, "10 tasks named send became dead letters in the last hour, and 24 in the 24 hours"));
  CHECK(contains(findings[0].fix, "dogged dead top --name send"));
}

TEST_CASE("room for fewer than four sessions that look at every day is a warning with the setting that makes it") {
  CHECK(worst(judge_locks({.locks_of_lookup = 1600})) == Level::ok);  // of 6400
  const Findings findings = judge_locks({.locks_of_lookup = 1601});
  REQUIRE(findings.size() == 1);
  CHECK(findings[0].level == Level::warning);
  CHECK(contains(findings[0].why, "when 4 sessions look at once"));
  CHECK(contains(findings[0].fix, "max_locks_per_transaction to 128"));
}

TEST_CASE("the holder of an exclusive lock is named from five minutes on, or when another waits for a minute") {
  const auto holder = [](std::optional<microseconds> held, std::optional<microseconds> waited) {
    return std::vector<HolderFacts>{
        {.name = "partitions", .pid = 7, .user = "ann", .application = "psql", .held = held, .waited = waited}};
  };
  CHECK(judge_holders({}).empty());
  CHECK(judge_holders(holder(4min, 59s)).empty());
  CHECK(judge_holders(holder(1s, 1min)).size() == 1);
  const Findings findings = judge_holders(holder(5min, std::nullopt));
  REQUIRE(findings.size() == 1);
  CHECK(findings[0].level == Level::warning);
  CHECK(contains(findings[0].seen, "session 7 of ann (psql) has locked \"partitions\" since 5"));
  CHECK(contains(findings[0].fix, "pg_terminate_backend(7)"));
}

TEST_CASE("versions differ among live workers, or from this program") {
  const auto worker = [](const char* version, bool is_live) {
    return WorkerFacts{.id = 1, .name = "a", .version = version, .is_live = is_live};
  };
  CHECK(worst(judge_versions({worker("1", true), worker("2", false)}, "1")) == Level::ok);
  CHECK(worst(judge_versions({worker("1", true), worker("2", true)}, "1")) == Level::warning);
  CHECK(worst(judge_versions({worker("2", true)}, "1")) == Level::warning);
}

TEST_CASE("each trouble of schedules is one finding, which names the first five of them and counts all") {
  std::vector<ScheduleFacts> schedules;
  for (int i = 1; i <= 7; ++i) {
    schedules.push_back({.name = "s" + std::to_string(i), .task = "report", .state = "orphaned", .missed = i % 2});
  }
  const Findings findings = judge_schedules(schedules);
  REQUIRE(findings.size() == 2);
  CHECK(findings[0].seen == "schedules s1, s3, s5, s7: missed ticks within a day, which catch-up did not cover");
  CHECK(contains(findings[0].fix, "dogged schedules backfill s1 --from TIME"));
  CHECK(contains(findings[1].seen, "schedules s1, s2, s3, s4, s5 and 2 more: orphaned"));
  CHECK(findings[1].figures.front().second == 7);
}
