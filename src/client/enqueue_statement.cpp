// See enqueue_statement.hpp.
#include "client/enqueue_statement.hpp"

#include <algorithm>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <dogged/detail/cut_for_message.hpp>
#include <dogged/detail/json_text.hpp>
#include <dogged/detail/sql_call.hpp>

#include "client/current_task.hpp"
#include "sql/client.hpp"

namespace dogged {
namespace {

std::optional<std::string> given(std::string_view text) {
  return text.empty() ? std::nullopt : std::optional{std::string{text}};
}

/// Throws InvalidInput: the task, and what is wrong with it.
[[noreturn]] void refuse(const NewTask& task, const std::string& mistake) {
  throw InvalidInput("task \"" + task.name.substr(0, limits::name_bytes) + "\": " + mistake);
}

void require_valid_unique(const NewTask& task, const Unique& unique) {
  if (unique.by.size() > JsonPointers::max_size) {
    refuse(task, "it is unique by " + std::to_string(unique.by.size()) + " JSON pointers; the limit is " +
                     std::to_string(JsonPointers::max_size));
  }
  for (const std::string_view pointer : unique.by) {
    if (detail::is_valid_json_pointer(pointer)) continue;
    refuse(task, "it is unique by \"" + detail::cut_for_message(pointer) +
                     "\", which is no JSON pointer: write /user for the member user of its args");
  }
  if (!detail::is_valid_latest(unique)) {
    refuse(task, "it has a latest time, and on_conflict is " + std::string{to_text(unique.on_conflict)} +
                     ", which moves no run: leave latest out, or give reschedule, debounce or debounce_merge");
  }
  if (!detail::is_valid_unique(unique)) {
    const bool is_period = unique.period && *unique.period <= milliseconds{0};
    refuse(task, std::string{is_period ? "its unique period" : "its latest time"} + " is " +
                     std::to_string((is_period ? unique.period : unique.latest)->count()) +
                     " ms; it must be more than 0: leave it out for no limit");
  }
}

/// Separates the args of tasks (RFC 7464): it cannot occur in JSON.
constexpr char args_separator = '\x1e';

/// Of the handler that enqueues, for tasks without a trace context of their own; empty if there is none.
std::string inherited_trace() {
  const TraceContext* const trace = detail::current_task().trace;
  return trace != nullptr ? trace->to_text() : std::string{};
}

const std::string& queue_of(const NewTask& task) {
  return task.options.queue.empty() ? task.key_queue : task.options.queue;
}

const Unique& rule_of(const NewTask& task) {
  static constexpr Unique by_default;
  return task.options.unique ? *task.options.unique : by_default;
}

bool has_nul(std::string_view text) { return text.find('\0') != std::string_view::npos; }

/// All but the args.
void require_sound_options(const NewTask& task) {
  const EnqueueOptions& options = task.options;
  if (options.run_at && options.delay) refuse(task, "give either run_at or delay, not both");
  constexpr std::size_t most_tags = 256;  // as dogged.mistake_in_tags, before millions of them are sent
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
  if (options.tags.size() > most_tags) {
    refuse(task, "it has " + std::to_string(options.tags.size()) +
                     " tags; no more than 256 fit into 512 bytes with commas between them");
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
  if (has_nul(options.unique_key)) refuse(task, "its unique_key contains a NUL byte");
  if (options.unique_key.size() > limits::unique_key_bytes) {
    refuse(task, "its unique_key has " + std::to_string(options.unique_key.size()) + " bytes; the limit is " +
                     std::to_string(limits::unique_key_bytes));
  }
  if (task.is_unique()) require_valid_unique(task, rule_of(task));
}

void require_sound_args(const NewTask& task) {
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
  if (!is_utf8(task.options.unique_key)) return what + "unique_key is not valid UTF-8";
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

/// The running task as the parent of the tasks that its handler enqueues.
struct Handler {
  std::optional<std::int64_t> task;
  std::optional<std::string> installation;
};

Handler handler_as_parent(bool is_parent) {
  const detail::CurrentTask current = detail::current_task();
  if (!is_parent || current.id == 0) return {};
  return {current.id, std::string{current.installation}};
}

std::vector<std::string> texts_of(const JsonPointers& pointers) { return {pointers.begin(), pointers.end()}; }

sql::Enqueue one_task(const NewTask& task, const CallKey& key) {
  const EnqueueOptions& options = task.options;
  Handler handler = handler_as_parent(!options.parent);
  return {.name = task.name,
          .args = task.args_json,
          .queue = given(queue_of(task)),
          .run_at_us = microseconds_since_1970(options.run_at),
          .delay_ms = milliseconds_of(options.delay),
          .priority = options.priority,
          .trace_context = given(options.trace_context.empty() ? inherited_trace() : options.trace_context),
          .expires_at_us = microseconds_since_1970(options.expires_at),
          .expires_in_ms = milliseconds_of(options.expires_in),
          .tags = options.tags.empty() ? std::nullopt : std::optional{options.tags},
          .parent = options.parent == TaskId{0} ? std::nullopt : options.parent,
          .current_task = handler.task,
          .installation = std::move(handler.installation),
          .args_version = task.args_version == 1 ? std::nullopt : std::optional{task.args_version},
          .producer = key.producer,
          .call = key.call};
}

sql::EnqueueUnique one_unique_task(const NewTask& task, const CallKey& key) {
  sql::Enqueue plain = one_task(task, key);
  const Unique& rule = rule_of(task);
  const bool has_key = !task.options.unique_key.empty();
  return {.name = std::move(plain.name),
          .args = std::move(plain.args),
          .unique_key = given(task.options.unique_key),
          .unique_by = has_key ? std::nullopt : std::optional{texts_of(rule.by)},
          .unique_while = std::string{to_text(rule.while_)},
          .on_conflict = std::string{to_text(rule.on_conflict)},
          .period_ms = milliseconds_of(rule.period),
          .latest_ms = milliseconds_of(rule.latest),
          .queue = std::move(plain.queue),
          .run_at_us = plain.run_at_us,
          .delay_ms = plain.delay_ms,
          .priority = plain.priority,
          .trace_context = std::move(plain.trace_context),
          .expires_at_us = plain.expires_at_us,
          .expires_in_ms = plain.expires_in_ms,
          .tags = std::move(plain.tags),
          .parent = plain.parent,
          .current_task = plain.current_task,
          .installation = std::move(plain.installation),
          .args_version = plain.args_version,
          .producer = std::move(plain.producer),
          .call = plain.call};
}

template <class Get>
using Got = std::decay_t<std::invoke_result_t<Get, const NewTask&>>;

/// The values that `get` refers to in each task, converted by `convert`. One element if all are equal: enqueue_many is
/// faster then.
template <class Get, class Convert = std::identity>
auto array_of(std::span<const NewTask> tasks, Get get, Convert convert = {}) {
  const auto differ = [&](const NewTask& a, const NewTask& b) { return get(a) != get(b); };
  const bool are_alike = std::adjacent_find(tasks.begin(), tasks.end(), differ) == tasks.end();
  if (are_alike) tasks = tasks.first(1);
  std::vector<std::decay_t<std::invoke_result_t<Convert, Got<Get>>>> values;
  values.reserve(tasks.size());
  for (const NewTask& task : tasks) values.push_back(convert(get(task)));
  return values;
}

/// The same; null if all have the default.
template <class Get, class Convert = std::identity>
auto unless_default(std::span<const NewTask> tasks, Get get, Convert convert = {}, const Got<Get>& by_default = {}) {
  const bool all_default =
      std::all_of(tasks.begin(), tasks.end(), [&](const NewTask& task) { return get(task) == by_default; });
  return all_default ? std::nullopt : std::optional{array_of(tasks, get, convert)};
}

/// 0 stands for the task whose handler enqueues.
std::optional<std::vector<std::int64_t>> parents_of(std::span<const NewTask> tasks) {
  const bool has_current = detail::current_task().id != 0;
  const auto parent_of = [&](const NewTask& task) -> std::int64_t {
    if (!task.options.parent) return has_current ? 0 : not_given;
    return *task.options.parent == 0 ? not_given : *task.options.parent;
  };
  return unless_default(tasks, parent_of, {}, not_given);
}

std::string joined_args(std::span<const NewTask> tasks) {
  std::size_t bytes = tasks.size();
  for (const NewTask& task : tasks) bytes += task.args_json.size();
  std::string args;
  args.reserve(bytes);
  for (const NewTask& task : tasks) {
    if (!args.empty()) args += args_separator;
    args += task.args_json;
  }
  return args;
}

sql::EnqueueMany many_tasks(const NewTasks& tasks, const CallKey& key) {
  const std::span<const NewTask> kinds = tasks.kinds();
  const auto option = [](auto EnqueueOptions::*member) {
    return [member](const NewTask& task) -> const auto& { return task.options.*member; };
  };
  const std::string inherited = inherited_trace();
  const auto trace_context_of = [&](const NewTask& task) -> std::string_view {
    return task.options.trace_context.empty() ? inherited : task.options.trace_context;
  };
  const bool any_without_parent =
      std::any_of(kinds.begin(), kinds.end(), [](const NewTask& task) { return !task.options.parent; });
  Handler handler = handler_as_parent(any_without_parent);
  return {
      .producer = key.producer,
      .call = key.call,
      .name = array_of(kinds, std::mem_fn(&NewTask::name)),
      .args = joined_args(tasks.all()),
      .queue = unless_default(kinds, queue_of),
      .run_at_us = unless_default(kinds, option(&EnqueueOptions::run_at), or_least(microseconds_since_1970)),
      .delay_ms = unless_default(kinds, option(&EnqueueOptions::delay), or_least(milliseconds_of)),
      .priority = unless_default(kinds, option(&EnqueueOptions::priority)),
      .trace_context = unless_default(kinds, trace_context_of, [](std::string_view text) { return std::string{text}; }),
      .expires_at_us = unless_default(kinds, option(&EnqueueOptions::expires_at), or_least(microseconds_since_1970)),
      .expires_in_ms = unless_default(kinds, option(&EnqueueOptions::expires_in), or_least(milliseconds_of)),
      .tags = unless_default(kinds, option(&EnqueueOptions::tags), array_text),
      .parent = parents_of(kinds),
      .current_task = handler.task,
      .installation = std::move(handler.installation),
      .args_version = unless_default(kinds, std::mem_fn(&NewTask::args_version), {}, 1)};
}

/// Gives the key. Tasks that are not unique have none.
std::string key_of(const NewTask& task) { return task.options.unique_key; }

std::string pointers_of(const NewTask& task) {
  if (!task.is_unique() || !task.options.unique_key.empty()) return {};
  return array_text(texts_of(rule_of(task).by));
}

sql::EnqueueManyUnique many_unique_tasks(const NewTasks& tasks, const CallKey& key) {
  sql::EnqueueMany plain = many_tasks(tasks, key);
  const std::span<const NewTask> kinds = tasks.kinds();
  const auto rule = [](auto Unique::*member) {
    return [member](const NewTask& task) { return rule_of(task).*member; };
  };
  const auto text = [](auto value) { return std::string{to_text(value)}; };
  return {.name = std::move(plain.name),
          .args = std::move(plain.args),
          .unique_key = array_of(kinds, key_of),
          .unique_by = array_of(kinds, pointers_of),
          .unique_while = array_of(kinds, rule(&Unique::while_), text),
          .on_conflict = array_of(kinds, rule(&Unique::on_conflict), text),
          .period_ms = array_of(kinds, rule(&Unique::period), or_least(milliseconds_of)),
          .latest_ms = array_of(kinds, rule(&Unique::latest), or_least(milliseconds_of)),
          .queue = std::move(plain.queue),
          .run_at_us = std::move(plain.run_at_us),
          .delay_ms = std::move(plain.delay_ms),
          .priority = std::move(plain.priority),
          .trace_context = std::move(plain.trace_context),
          .expires_at_us = std::move(plain.expires_at_us),
          .expires_in_ms = std::move(plain.expires_in_ms),
          .tags = std::move(plain.tags),
          .parent = std::move(plain.parent),
          .current_task = plain.current_task,
          .installation = std::move(plain.installation),
          .args_version = std::move(plain.args_version),
          .producer = std::move(plain.producer),
          .call = plain.call};
}

}  // namespace

bool makes_queue(const NewTask& task) { return task.options.queue.empty() && !task.key_queue.empty(); }

db::BoundStatement enqueue_statement(const NewTasks& tasks, const CallKey& key) {
  const NewTask& first = tasks.all().front();
  for (const NewTask& task : tasks.all()) {
    if (&task == &first || tasks.kinds().size() > 1) require_sound_options(task);
    require_sound_args(task);
  }
  const bool is_one = tasks.all().size() == 1;
  if (detail::any_is_unique(tasks.kinds())) {
    if (is_one) return one_unique_task(first, key);
    return many_unique_tasks(tasks, key);
  }
  if (is_one) return one_task(first, key);
  return many_tasks(tasks, key);
}

void explain_refused(std::span<const NewTask> tasks) {
  for (const NewTask& task : tasks) {
    if (const std::string mistake = mistake_in(task); !mistake.empty()) {
      throw InvalidInput(mistake, "Nothing was enqueued.");
    }
  }
}

}  // namespace dogged
