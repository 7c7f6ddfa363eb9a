// The place of a ready task in its queue (dogged.place), at the bounds: the least and the greatest priority, and the
// greatest ids.
#include <chrono>
#include <string>
#include <vector>

#include "support/catch.hpp"
#include "support/test_database.hpp"
#include "support/usual_task.hpp"

using namespace dogged;
using test::eventually;
using test::no_args;
using test::RunningWorker;
using test::TestDatabase;
using test::work;

namespace {

constexpr std::int64_t last_id = (std::int64_t{1} << 46) - 1;

TaskId enqueue(Client& client, int priority) { return client.enqueue(work, no_args, {.priority = priority}); }

}  // namespace

TEST_CASE("the places of one priority come before those of the next, in front or not, up to the greatest id") {
  TestDatabase database;
  const std::string rows = database.value(
      "with positions (position) as (values (1 - 2::bigint ^ 46), (-1), (1), (2::bigint ^ 46 - 1)), "
      "     lanes (priority) as (values (-32768), (-32767), (-1), (0), (1), (32766), (32767)), "
      "     places as (select dogged.place(priority::smallint, position::bigint, 1) as place, priority, position "
      "                  from lanes cross join positions) "
      "select count(*) || ' places, ' || count(distinct place) || ' distinct, ' || "
      "       count(*) filter (where not in_order) || ' out of order' as value "
      "  from (select place, coalesce(place > lag(place) over (order by priority, position), true) as in_order "
      "          from places) compared");
  CHECK(rows == "28 places, 28 distinct, 0 out of order");
}

TEST_CASE("a task without a ready_position stands at its id") {
  TestDatabase database;
  CHECK(database.value("select dogged.place(3::smallint, null, 7) = dogged.place(3::smallint, 7, 9) as value") == "t");
}

TEST_CASE("tasks of the least and the greatest priority and of the greatest ids run in their order") {
  TestDatabase database;
  database.run("select setval('dogged.tasks_id_seq', $1::bigint)", db::Params{}.add(last_id - 4));
  Client client = database.client();
  const TaskId last = enqueue(client, 32767);
  const TaskId second = enqueue(client, -32768);
  const TaskId third = enqueue(client, 0);
  const TaskId first = enqueue(client, -32768);
  REQUIRE(first == last_id);
  // Given back: before all others of its priority, though it came last.
  database.run("update dogged.tasks_live set ready_position = $1::bigint - 70368744177664 where id = $1::bigint",
               db::Params{}.add(first));
  std::vector<TaskId> run;  // by one thread; an attempt's started_at is only as exact as the delay of its report
  RunningWorker worker{
      database,
      {test::registered(work, [&](Context& context, const nlohmann::json&) { run.push_back(context.task_id()); })},
      {.queues = {{"default", 1}}}};
  for (const TaskId id : {first, second, third, last}) {
    CHECK(eventually([&] { return database.status_of(id) == "succeeded"; }));
  }
  worker.stop();
  CHECK(run == std::vector<TaskId>{first, second, third, last});
}

TEST_CASE("a query by place uses the index of ready tasks, which calls no function for an entry") {
  TestDatabase database;
  database.run("set enable_seqscan = off");
  database.run("set enable_sort = off");
  std::string plan;
  for (const test::Row& row :
       database.run("explain (costs off) select id from dogged.tasks_live where not deferred "
                    "order by hashtext(queue), dogged.place(priority, ready_position, id) limit 1")) {
    plan += row.text("QUERY PLAN") + "\n";
  }
  INFO(plan);
  CHECK(test::contains(plan, "tasks_live_ready"));
  const test::Rows computed = database.run(
      "explain (verbose, costs off) select dogged.place(priority, ready_position, id) from dogged.tasks_live");
  CHECK(test::contains(computed[1].text("QUERY PLAN"), "COALESCE(ready_position, id)"));
}
