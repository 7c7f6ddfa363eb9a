// Promises of unique keys: G20. See promises.hpp.
#include <algorithm>

#include "promises.hpp"
#include "require.hpp"

namespace dogged::sim::promises {
namespace {

/// Tasks with the key that keep it from another task by the rule, whatever dogged.unique_keys says. With While::pending
/// that is the last one alone: earlier ones may be pending again.
std::vector<TaskId> holders(const std::string& key, const KeyRule& rule, const Database& database) {
  std::vector<TaskId> ids;
  if (rule.while_ == While::pending || rule.period) return ids;
  for (const auto& [id, task] : database.tasks()) {
    const bool is_live = task.state != Task::State::ended && !database.has_expired(task);
    if (task.key == key && (rule.while_ == While::kept || is_live)) ids.push_back(id);
  }
  return ids;
}

}  // namespace

void an_answer_names_the_holder(TaskId id, const std::string& key, const KeyRule& rule, const Database& database) {
  const Task& task = database.tasks().at(id);
  const bool is_late = rule.while_ != While::kept && database.has_expired(task);
  require(!is_late, "G20", "no answer names a task that has expired and never begins", named(id) + " for " + key);
  const bool holds = rule.while_ == While::kept || (rule.while_ == While::live && task.state != Task::State::ended) ||
                     task.state == Task::State::pending;
  require(task.key == key && holds, "G20", "an answer names the task that holds the key", named(id) + " for " + key);
}

void a_key_is_taken_when_it_is_free(const std::string& key, const KeyRule& rule, const Database& database) {
  const std::vector<TaskId> held_by = holders(key, rule, database);
  require(held_by.empty(), "G20", "a key that a task holds is not taken",
          key + " of " + (held_by.empty() ? std::string{} : named(held_by.front())));
}

void a_key_has_one_holder(TaskId id, const Database& database) {
  const Task& task = database.tasks().at(id);
  for (const TaskId other : holders(task.key, task.rule, database)) {
    require(other == id, "G20", "a key has one holder", task.key + " of " + named(other) + " and " + named(id));
  }
}

void a_holder_begins_after_the_call(TaskId id, const Database& database) {
  require(database.tasks().at(id).state == Task::State::pending, "G20",
          "a pending holder begins after the transaction that met it", named(id));
}

void an_attempt_gets_the_args_of_all_calls(TaskId id, const Args& args, const Ledger& ledger) {
  const Args& expected = ledger.args.at(id);
  require(args == expected, "G20", "an attempt gets the args of all calls that were committed before its claim",
          Named{id}, " gets ", args.size(), " of ", expected.size());
}

void no_debounce_goes_on_for_ever(TaskId id, TimePoint due, TimePoint enqueued_at, TimePoint now, const KeyRule& rule) {
  require(!rule.latest || due <= std::max(now, enqueued_at + *rule.latest), "G20",
          "a debounced task runs by its latest time", named(id) + " is due " + in_ms(due - enqueued_at) + " later");
}

}  // namespace dogged::sim::promises
