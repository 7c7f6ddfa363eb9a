// The line of the log on the holder of a task, and the row that the line is made of.
#include "lease/core/holder.hpp"

#include "lease/who_holds.hpp"
#include "support/catch.hpp"

using namespace dogged;
using namespace dogged::runtime;
using lifecycle::Outcome;
using lifecycle::Status;

TEST_CASE("the log names the holder or the end of a task, and the recorded outcome of the attempt") {
  CHECK(whose_it_is({}) == "there is no such task");
  CHECK(whose_it_is({.outcome = Outcome::lost}) == "the attempt is on record as lost; there is no such task");
  CHECK(whose_it_is({.task_attempt = 2, .status = Status::running, .worker = 7, .worker_name = "mill"}) ==
        "worker 7 (mill) runs attempt 2");
  CHECK(whose_it_is({.task_attempt = 2, .status = Status::running, .worker = 7}) ==
        "worker 7 (unknown) runs attempt 2");
  CHECK(whose_it_is({.task_attempt = 3, .status = Status::failed, .outcome = Outcome::timed_out}) ==
        "the attempt is on record as timed_out; the task is failed after attempt 3");
}

TEST_CASE("a status and an outcome that a newer worker wrote leave a task that is not held") {
  sql::WhoHolds::Row row{};
  row.status = "evaporated";
  row.task_attempt = 4;
  row.outcome = "evaporated";
  const Holder holder = holder_of(row);
  CHECK_FALSE(holder.status);
  CHECK_FALSE(holder.outcome);
  CHECK(whose_it_is(holder) == "the task is in a status that this version does not know after attempt 4");
}
