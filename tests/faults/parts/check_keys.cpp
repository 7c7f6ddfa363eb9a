// See checks.hpp.
#include <algorithm>

#include "checks.hpp"

namespace dogged::faults {
namespace {

void check_met(const Evidence& evidence, Complaints& complaints) {
  std::map<TaskId, const TaskRow*> tasks;
  for (const TaskRow& task : evidence.tasks) tasks[task.id] = &task;
  for (const auto& [key, met] : evidence.met) {
    const auto holder = tasks.find(met.holder);
    if (holder != tasks.end() && holder->second->unique_key == met.unique_key) continue;
    complaints.push_back("key " + std::to_string(key) + " was told that " + name_of(met.holder) + " holds \"" +
                         met.unique_key + "\", and " +
                         (holder == tasks.end() ? "that task is not there"
                                                : "the key of that task is \"" + holder->second->unique_key + "\""));
  }
}

}  // namespace

void check_keys(const Evidence& evidence, const AttemptsOf& attempts, Complaints& complaints) {
  check_met(evidence, complaints);
  std::map<std::pair<std::string, std::string>, std::vector<const TaskRow*>> tasks_of;
  for (const TaskRow& task : evidence.tasks) {
    if (rules_of(task.name).unique_while == UniqueWhile::live) tasks_of[{task.name, task.unique_key}].push_back(&task);
  }
  for (auto& [key, tasks] : tasks_of) {
    check_one_at_a_time(std::move(tasks), attempts, "of key \"" + key.second + "\"", complaints);
  }
}

void check_keys(const Moment& moment, Complaints& complaints) {
  for (const KeyRow& row : moment.keys) {
    if (row.task_name.empty() || (row.task_name == row.name && row.task_key == row.unique_key)) continue;
    complaints.push_back("the key \"" + row.unique_key + "\" of " + row.name + " names " + name_of(row.task_id) +
                         ", which is " + row.task_name + " with the key \"" + row.task_key + "\"");
  }
  for (const UniqueTaskRow& task : moment.unique_tasks) {
    // A claim frees a key that is held while pending, and the worker may give the task back unstarted.
    const bool holds_its_key = rules_of(task.name).unique_while == UniqueWhile::live;
    if (!holds_its_key || task.in_row == task.id) continue;
    complaints.push_back(name_of(task.id) + " holds the key \"" + task.unique_key + "\", whose row " +
                         (task.in_row ? "names " + name_of(*task.in_row) : "is not there"));
  }
}

}  // namespace dogged::faults
