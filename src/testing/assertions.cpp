// The compiled side of the assertions on enqueued tasks.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>

#include <nlohmann/json.hpp>

#include <dogged/testing.hpp>

#include "db/connection.hpp"
#include "sql/testing.hpp"

namespace dogged::testing::detail {
namespace {

constexpr std::size_t shown_tasks = 20;

struct NamedTask {
  std::string name;
  EnqueuedTask<std::string> task;
};

std::optional<std::chrono::system_clock::time_point> time_of(std::optional<std::int64_t> us) {
  if (!us) return std::nullopt;
  return std::chrono::system_clock::time_point{std::chrono::microseconds{*us}};
}

/// All of them where `name` is empty.
std::vector<NamedTask> read_tasks(const std::string& url, std::string_view name, const LookOptions& options) {
  db::Connection connection{{.url = url, .schema = options.schema, .application_name = "dogged testing"}};
  const sql::TestingEnqueued enqueued{.name = name.empty() ? std::nullopt : std::optional{std::string{name}},
                                      .with_ended = options.with_ended};
  std::vector<NamedTask> tasks;
  for (const sql::TestingEnqueued::Row& task : connection.run(enqueued)) {
    tasks.push_back({task.name,
                     {.id = task.id,
                      .args = task.args,
                      .queue = task.queue,
                      .run_at = *time_of(task.run_at_us),
                      .priority = task.priority,
                      .tags = nlohmann::json::parse(task.tags).get<std::vector<std::string>>(),
                      .trace_context = task.trace_context.value_or(""),
                      .status = task.status,
                      .parent = task.parent_id.value_or(0),
                      .args_version = task.args_version,
                      .expires_at = time_of(task.expires_at_us)}});
  }
  return tasks;
}

std::string line_of(std::string_view name, const EnqueuedTask<std::string>& task) {
  return "\n  " + std::to_string(task.id) + " " + std::string{name} + " " + task.args + " in " + task.queue + ", " +
         task.status;
}

std::string rest_of(std::size_t count) {
  return count <= shown_tasks ? "" : "\n  … and " + std::to_string(count - shown_tasks) + " more";
}

}  // namespace

std::vector<EnqueuedTask<std::string>> find_tasks(const std::string& url, std::string_view name,
                                                  const LookOptions& options) {
  std::vector<EnqueuedTask<std::string>> tasks;
  for (NamedTask& found : read_tasks(url, name, options)) tasks.push_back(std::move(found.task));
  return tasks;
}

void fail_not_enqueued(const std::string& url, std::string_view name, const std::string& wanted,
                       const LookOptions& options) {
  const std::vector<NamedTask> all = read_tasks(url, "", {.with_ended = true, .schema = options.schema});
  std::string text = "no task " + std::string{name} + " " + wanted + " is enqueued" +
                     (options.with_ended ? "" : " that has not ended") + "; ";
  text += all.empty() ? "there is no task at all" : "there is:";
  for (std::size_t i = 0; i < std::min(all.size(), shown_tasks); ++i) text += line_of(all[i].name, all[i].task);
  throw AssertionFailed(text + rest_of(all.size()));
}

void fail_enqueued(std::string_view name, const std::vector<EnqueuedTask<std::string>>& found) {
  std::string text = "no task " + std::string{name} + " should be enqueued, and there is:";
  for (std::size_t i = 0; i < std::min(found.size(), shown_tasks); ++i) text += line_of(name, found[i]);
  throw AssertionFailed(text + rest_of(found.size()));
}

}  // namespace dogged::testing::detail
