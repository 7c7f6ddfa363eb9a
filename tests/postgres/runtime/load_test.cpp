// Two worker processes, many tasks of which a third fails at random, and one check of everything that was
// promised. DOGGED_LOAD_TASKS sets how many (10,000 unless said).
#include <array>
#include <cstdlib>
#include <random>

#include "support/catch.hpp"
#include "support/test_database.hpp"
#include "support/worker_process.hpp"

using namespace dogged;
using namespace std::chrono_literals;
using test::TestDatabase;
using test::WorkerProcess;

namespace {

int how_many_tasks() {
  const char* given = std::getenv("DOGGED_LOAD_TASKS");
  return given == nullptr ? 10'000 : std::stoi(given);
}

/// Three in ten fail: of them a third with a code that is not listed, the others one to four times (three
/// retries).
std::vector<NewTask> random_tasks(int count, std::mt19937& generator) {
  std::uniform_int_distribution<int> percent{0, 99};
  std::uniform_int_distribution<int> one_to_four{1, 4};
  std::vector<NewTask> tasks;
  for (int i = 0; i < count; ++i) {
    const int fate = percent(generator);
    const int failures = fate < 30 ? one_to_four(generator) : 0;
    const std::string code = fate < 10 ? "UNLISTED" : "LISTED";
    tasks.push_back({"load", nlohmann::json{{"failures", failures}, {"code", code}}.dump(), {.queue = "load"}});
  }
  return tasks;
}

/// Every broken promise, and by how many tasks or attempts. The right end of a task follows from its args.
constexpr const char* broken_promises = R"(
  with plan as (
    select id, status, attempt, retry_count, (args->>'failures')::int as failures, args->>'code' as code from dogged.tasks
  ), expected as (
    select *,
           case when failures = 0 or (code = 'LISTED' and failures <= 3) then 'succeeded' else 'failed' end as end_status,
           case when failures > 0 and code = 'UNLISTED' then 1 else least(failures, 3) + 1 end as end_attempts
      from plan
  ), history as (
    select task_id, attempt, outcome, error_code, will_retry, started_at, finished_at, next_retry_at, claimed_at,
           lead(started_at) over of_task as next_started_at, lead(claimed_at) over of_task as next_claimed_at,
           row_number() over of_task as position, count(*) over (partition by task_id) as attempts
      from dogged.task_attempts
    window of_task as (partition by task_id order by attempt)
  ), broken (promise, times) as (
    select 'no task is lost, none appears', abs(count(*) - $1::bigint) from expected
    union all select 'a task ends in the right status', count(*) from expected where status::text <> end_status
    union all select 'a task is tried as often as its policy says', count(*) from expected
      where attempt <> end_attempts or retry_count <> end_attempts - 1
    union all select 'every attempt has a row', count(*)
      from expected e left join history h on h.task_id = e.id and h.position = h.attempts
      where h.attempts is distinct from end_attempts
    union all select 'attempts are numbered 1 … n without a gap', count(*) from history where attempt <> position
    union all select 'will_retry is true on all but the last', count(*) from history
      where will_retry is distinct from (attempt < attempts)
    union all select 'what fails says why', count(*) from history h join expected e on e.id = h.task_id
      where h.error_code is distinct from case when h.attempt <= e.failures then e.code end
    union all select 'no retry starts before its next_retry_at', count(*) from history
      where next_claimed_at < next_retry_at or next_started_at < next_retry_at
    union all select 'no two attempts of a task overlap', count(*) from history where next_claimed_at < finished_at
    union all select 'times are in order', count(*) from history
      where not (claimed_at <= started_at and started_at <= finished_at)
  )
  select coalesce(string_agg(promise || ': broken ' || times || ' times', E'\n'), 'none') as value
    from broken where times > 0)";

}  // namespace

TEST_CASE("thousands of tasks on two worker processes: every promise is kept") {
  const int count = how_many_tasks();
  const auto seed = std::random_device{}();
  INFO(count << " tasks, seed " << seed);
  std::mt19937 generator{seed};
  TestDatabase database;
  database.run("select dogged.create_queue('load')");
  WorkerProcess first{database};
  WorkerProcess second{database};
  Client client = database.client();
  for (int left = count; left > 0; left -= 1000) client.enqueue_many(random_tasks(std::min(left, 1000), generator));

  std::string unfinished;
  for (int rounds = 0; rounds < 20 && unfinished != "0" && first.runs() && second.runs();
       ++rounds) {  // each up to 30 s
    (void)test::eventually([&] {
      unfinished = database.value("select count(*) as value from dogged.tasks_live");
      return unfinished == "0";
    });
  }
  CHECK(first.stop() == 0);
  CHECK(second.stop() == 0);
  REQUIRE(unfinished == "0");
  CHECK(database.value(broken_promises, db::Params{}.add(count)) == "none");
  CHECK(database.value("select count(distinct worker_id) as value from dogged.task_attempts") == "2");
}
