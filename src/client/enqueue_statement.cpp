// See enqueue_statement.hpp.
#include "client/enqueue_statement.hpp"

#include <algorithm>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include <dogged/detail/json_text.hpp>

#include "client/current_task.hpp"
#include "sql/client.hpp"

namespace dogged {
namespace {

std::optional<std::string> given(const std::string& text) { return text.empty() ? std::nullopt : std::optional{text}; }

/// Throws InvalidInput: the task, and what is wrong with it.
[[noreturn]] void refuse(const NewTask& task, const std::string& mistake) {
  throw InvalidInput("task \"" + task.name.substr(0, limits::name_bytes) + "\": " + mistake);
}

/// Separates the args of tasks (RFC 7464): it cannot occur in JSON.
constexpr char args_separator = '\x1e';

const std::string& queue_of(const NewTask& task) {
  return task.options.queue.empty() ? task.key_queue : task.options.queue;
}

bool has_nul(std::string_view text) { return text.find('\0') != std::string_view::npos; }

void require_sound(const NewTask& task) {
  const EnqueueOptions& options = task.options;
  if (options.run_at && options.delay) refuse(task, "give either run_at or delay, not both");
  if (options.delay && (*options.delay < milliseconds{0} || *options.delay > longest_ahead)) {
    refuse(task,
           "delay is " + std::to_string(options.delay->count()) + " ms; it must be 0 to 10 years (315360000000 ms)");
  }
  if (options.expires_at && options.expires_in) refuse(task, "give either expires_at or expires_in, not both");
  if (options.expires_in && (*options.expires_in <= milliseconds{0} || *options.expires_in > longest_ahead)) {
    refuse(task, "expires_in is " + std::to_string(options.expires_in->count()) +
                     " ms; it must be 1 ms to 10 years (315360000000 ms)");
  }
  if (has_nul(task.name) || has_nul(queue_of(task)) || has_nul(options.trace_context)) {
    refuse(task, "its name, queue or trace_context contains a NUL byte");
  }
  if (std::any_of(options.tags.begin(), options.tags.end(), has_nul)) {
    refuse(task, "one of its tags contains a NUL byte");
  }
  if (options.parent && *options.parent < 0) {
    refuse(task, "parent is " + std::to_string(*options.parent) +
                     "; it must be the id of a task, which is positive, or 0 for none");
  }
  if (task.args_version < 1 || task.args_version > limits::max_args_version) {
    refuse(task, "args_version is " + std::to_string(task.args_version) + "; it must be 1 to 32767");
  }
  if (has_nul(task.args_json)) refuse(task, "its args contain a NUL byte");
  if (task.args_json.find(args_separator) != std::string::npos) {
    refuse(task, "its args are not JSON: they contain the character U+001E");
  }
}

bool is_utf8(const std::string& text) {
  try {
    (void)nlohmann::json(text).dump();
    return true;
  } catch (const nlohmann::json::type_error&) {
    return false;
  }
}

/// The part of a JSON text that jsonb cannot hold, and its place; empty if there is none.
std::string mistake_in_json(const std::string& text) {
  try {
    const auto found = detail::find_unstorable(nlohmann::json::parse(text));
    if (!found) return {};
    return ": " + (found->pointer.empty() ? "the value" : detail::cut_for_message(found->pointer)) + " " +
           found->reason;
  } catch (const nlohmann::json::exception& error) {
    return " are not JSON: " + detail::describe_json_error(error.id, error.what()).reason;
  }
}

/// The part of `task` that PostgreSQL cannot read; empty if there is none. PostgreSQL's own error names neither the
/// task nor, often, the place.
std::string mistake_in(const NewTask& task) {
  if (!is_utf8(task.name)) return "a task's name is not valid UTF-8";
  const std::string what = "task \"" + task.name + "\": its ";
  if (!is_utf8(queue_of(task))) return what + "queue's name is not valid UTF-8";
  if (!is_utf8(task.options.trace_context)) return what + "trace_context is not valid UTF-8";
  for (const std::string& tag : task.options.tags) {
    if (!is_utf8(tag)) return what + "tags are not valid UTF-8";
  }
  const std::string in_args = mistake_in_json(task.args_json);
  return in_args.empty() ? "" : what + "args" + in_args;
}

std::optional<std::int64_t> microseconds_since_1970(const std::optional<std::chrono::system_clock::time_point>& time) {
  if (!time) return std::nullopt;
  return std::chrono::duration_cast<std::chrono::microseconds>(time->time_since_epoch()).count();
}

std::optional<std::int64_t> milliseconds_of(const std::optional<milliseconds>& delay) {
  return delay ? std::optional{std::int64_t{delay->count()}} : std::nullopt;
}

/// As the text of an array.
std::string array_text(const std::vector<std::string>& tags) { return *db::Params{}.add(tags).values().front(); }

/// Stands in an array for a value that is not given (enqueue_many.sql).
constexpr std::int64_t not_given = std::numeric_limits<std::int64_t>::min();

template <class Convert>
auto or_least(Convert convert) {
  return [convert](const auto& time) { return convert(time).value_or(not_given); };
}

/// Adds the task whose handler enqueues, if it is the parent.
void add_current_task(db::Params& params, bool is_parent) {
  const detail::CurrentTask current = detail::current_task();
  if (is_parent && current.id != 0) {
    params.add(current.id).add(current.installation);
  } else {
    params.add_null().add_null();
  }
}

db::Params params_of(const NewTask& task) {
  db::Params params;
  params.add(task.name).add(task.args_json).add(given(queue_of(task)));
  params.add(microseconds_since_1970(task.options.run_at)).add(milliseconds_of(task.options.delay));
  params.add(task.options.priority).add(given(task.options.trace_context));
  params.add(microseconds_since_1970(task.options.expires_at)).add(milliseconds_of(task.options.expires_in));
  params.add(task.options.tags.empty() ? std::nullopt : std::optional{array_text(task.options.tags)});
  const std::optional<TaskId> parent = task.options.parent;
  params.add(parent == TaskId{0} ? std::nullopt : parent);
  add_current_task(params, !parent);
  params.add(task.args_version == 1 ? std::nullopt : std::optional<std::int64_t>{task.args_version});
  return params;
}

/// Adds an array of the values that `get` refers to in each task, converted by `convert`. One element if all are equal:
/// enqueue_many is faster then.
template <class Get, class Convert>
void add_array(db::Params& params, const std::vector<NewTask>& tasks, Get get, Convert convert) {
  const auto differ = [&](const NewTask& a, const NewTask& b) { return get(a) != get(b); };
  const bool are_alike = std::adjacent_find(tasks.begin(), tasks.end(), differ) == tasks.end();
  std::vector<decltype(convert(get(tasks.front())))> values;
  values.reserve(are_alike ? 1 : tasks.size());
  for (const NewTask& task : tasks) {
    values.push_back(convert(get(task)));
    if (are_alike) break;
  }
  params.add(values);
}

/// The same; null if all have the default.
template <class Get, class Convert, class Value = std::decay_t<std::invoke_result_t<Get, const NewTask&>>>
void add_options(db::Params& params, const std::vector<NewTask>& tasks, Get get, Convert convert,
                 const Value& by_default = {}) {
  if (std::all_of(tasks.begin(), tasks.end(), [&](const NewTask& task) { return get(task) == by_default; })) {
    params.add_null();
  } else {
    add_array(params, tasks, get, convert);
  }
}

/// 0 stands for the task whose handler enqueues.
void add_parents(db::Params& params, const std::vector<NewTask>& tasks) {
  const bool has_current = detail::current_task().id != 0;
  const auto parent_of = [&](const NewTask& task) -> std::int64_t {
    if (!task.options.parent) return has_current ? 0 : not_given;
    return *task.options.parent == 0 ? not_given : *task.options.parent;
  };
  add_options(
      params, tasks, parent_of, [](std::int64_t id) { return id; }, not_given);
  add_current_task(params,
                   std::any_of(tasks.begin(), tasks.end(), [](const NewTask& task) { return !task.options.parent; }));
}

db::Params params_of(const std::vector<NewTask>& tasks) {
  const auto as_text = [](const std::string& text) { return std::string_view{text}; };
  const auto option = [](auto EnqueueOptions::*member) {
    return [member](const NewTask& task) -> const auto& { return task.options.*member; };
  };
  std::string args;
  for (const NewTask& task : tasks) {
    if (&task != &tasks.front()) args += args_separator;
    args += task.args_json;
  }
  db::Params params;
  add_array(
      params, tasks, [](const NewTask& task) -> const std::string& { return task.name; }, as_text);
  params.add(args);
  add_options(params, tasks, queue_of, as_text);
  add_options(params, tasks, option(&EnqueueOptions::run_at), or_least(microseconds_since_1970));
  add_options(params, tasks, option(&EnqueueOptions::delay), or_least(milliseconds_of));
  add_options(params, tasks, option(&EnqueueOptions::priority), [](int priority) { return std::int64_t{priority}; });
  add_options(params, tasks, option(&EnqueueOptions::trace_context), as_text);
  add_options(params, tasks, option(&EnqueueOptions::expires_at), or_least(microseconds_since_1970));
  add_options(params, tasks, option(&EnqueueOptions::expires_in), or_least(milliseconds_of));
  add_options(params, tasks, option(&EnqueueOptions::tags), array_text);
  add_parents(params, tasks);
  const auto as_number = [](int number) { return std::int64_t{number}; };
  add_options(
      params, tasks, [](const NewTask& task) { return task.args_version; }, as_number, 1);
  return params;
}

}  // namespace

bool makes_queue(const NewTask& task) { return task.options.queue.empty() && !task.key_queue.empty(); }

EnqueueStatement enqueue_statement(const std::vector<NewTask>& tasks, const std::optional<CallKey>& key) {
  for (const NewTask& task : tasks) require_sound(task);
  const bool is_one = tasks.size() == 1;
  EnqueueStatement enqueue = is_one ? EnqueueStatement{sql::enqueue, params_of(tasks.front())}
                                    : EnqueueStatement{sql::enqueue_many, params_of(tasks)};
  enqueue.params.add(key ? std::optional{key->producer} : std::nullopt);
  enqueue.params.add(key ? std::optional{key->call} : std::nullopt);
  return enqueue;
}

void explain_refused(const std::vector<NewTask>& tasks) {
  for (const NewTask& task : tasks) {
    if (const std::string mistake = mistake_in(task); !mistake.empty()) {
      throw InvalidInput(mistake, "Nothing was enqueued.");
    }
  }
}

}  // namespace dogged
