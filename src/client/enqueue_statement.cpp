// See enqueue_statement.hpp.
#include "client/enqueue_statement.hpp"

#include <algorithm>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <dogged/detail/json_text.hpp>

#include "sql_statements.hpp"

namespace dogged {
namespace {

constexpr milliseconds longest_ahead = std::chrono::hours{24} * 3650;

std::optional<std::string> given(const std::string& text) { return text.empty() ? std::nullopt : std::optional{text}; }

void require_sound(const NewTask& task) {
  const std::string what = "task \"" + task.name.substr(0, limits::name_bytes) + "\": ";
  const EnqueueOptions& options = task.options;
  if (options.run_at && options.delay) throw InvalidInput(what + "give either run_at or delay, not both");
  if (options.delay && (*options.delay < milliseconds{0} || *options.delay > longest_ahead)) {
    throw InvalidInput(what + "delay is " + std::to_string(options.delay->count()) +
                       " ms; it must be 0 to 10 years (315360000000 ms)");
  }
  if (options.expires_at && options.expires_in)
    throw InvalidInput(what + "give either expires_at or expires_in, not both");
  if (options.expires_in && (*options.expires_in <= milliseconds{0} || *options.expires_in > longest_ahead)) {
    throw InvalidInput(what + "expires_in is " + std::to_string(options.expires_in->count()) +
                       " ms; it must be 1 ms to 10 years (315360000000 ms)");
  }
  for (const std::string* text : {&task.name, &options.queue, &options.trace_context}) {
    if (text->find('\0') != std::string::npos) {
      throw InvalidInput(what + "its name, queue or trace_context contains a NUL byte");
    }
  }
  for (const std::string& tag : options.tags) {
    if (tag.find('\0') != std::string::npos) throw InvalidInput(what + "one of its tags contains a NUL byte");
  }
  if (task.args_json.find('\0') != std::string::npos) throw InvalidInput(what + "its args contain a NUL byte");
}

bool is_utf8(const std::string& text) {
  try {
    (void)nlohmann::json(text).dump();
    return true;
  } catch (const nlohmann::json::type_error&) {
    return false;
  }
}

/// What in JSON text jsonb cannot hold, and where; empty if nothing.
std::string mistake_in_json(const std::string& text) {
  try {
    const auto found = detail::find_unstorable(nlohmann::json::parse(text));
    if (!found) return {};
    return ": " + (found->pointer.empty() ? "the value" : found->pointer) + " " + found->reason;
  } catch (const nlohmann::json::exception& error) {
    std::string_view what = error.what();  // [json.exception.parse_error.101] parse error at line 1, column 2: …
    what.remove_prefix(std::min(what.find(' '), what.size()));
    return " are not JSON:" + std::string{what.substr(0, what.find("; last read"))};  // which may be long, or no UTF-8
  }
}

/// What in `task` PostgreSQL cannot read; empty if nothing. Its own error names neither the task nor, often,
/// the place.
std::string mistake_in(const NewTask& task) {
  if (!is_utf8(task.name)) return "a task's name is not valid UTF-8";
  const std::string what = "task \"" + task.name + "\": its ";
  if (!is_utf8(task.options.queue)) return what + "queue's name is not valid UTF-8";
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
std::optional<std::string> tags_of(const NewTask& task) {
  if (task.options.tags.empty()) return std::nullopt;
  return db::Params{}.add(task.options.tags).values().front();
}

db::Params params_of(const NewTask& task) {
  db::Params params;
  params.add(task.name).add(task.args_json).add(given(task.options.queue));
  params.add(microseconds_since_1970(task.options.run_at)).add(milliseconds_of(task.options.delay));
  params.add(task.options.priority).add(given(task.options.trace_context));
  params.add(microseconds_since_1970(task.options.expires_at)).add(milliseconds_of(task.options.expires_in));
  params.add(tags_of(task));
  return params;
}

/// An array, of one element where all are alike: enqueue_many is faster then.
template <class T>
void add_array(db::Params& params, std::vector<T> values) {
  const bool are_alike = std::adjacent_find(values.begin(), values.end(), std::not_equal_to<>{}) == values.end();
  if (are_alike && values.size() > 1) values.resize(1);
  params.add(values);
}

/// The same; null where all are defaults.
template <class T>
void add_unless_default(db::Params& params, std::vector<T> values, const T& by_default) {
  if (std::all_of(values.begin(), values.end(), [&](const T& value) { return value == by_default; })) {
    params.add_null();
  } else {
    add_array(params, std::move(values));
  }
}

db::Params params_of(const std::vector<NewTask>& tasks) {
  std::vector<std::string> names, args;
  std::vector<std::optional<std::string>> queues, trace_contexts, tags;
  std::vector<std::optional<std::int64_t>> run_ats_us, delays_ms, expire_ats_us, expire_in_ms;
  std::vector<std::int64_t> priorities;
  for (const NewTask& task : tasks) {
    names.push_back(task.name);
    args.push_back(task.args_json);
    queues.push_back(given(task.options.queue));
    run_ats_us.push_back(microseconds_since_1970(task.options.run_at));
    delays_ms.push_back(milliseconds_of(task.options.delay));
    priorities.push_back(task.options.priority);
    trace_contexts.push_back(given(task.options.trace_context));
    expire_ats_us.push_back(microseconds_since_1970(task.options.expires_at));
    expire_in_ms.push_back(milliseconds_of(task.options.expires_in));
    tags.push_back(tags_of(task));
  }
  db::Params params;
  add_array(params, std::move(names));
  params.add(args);
  add_unless_default(params, std::move(queues), {});
  add_unless_default(params, std::move(run_ats_us), {});
  add_unless_default(params, std::move(delays_ms), {});
  add_unless_default(params, std::move(priorities), std::int64_t{0});
  add_unless_default(params, std::move(trace_contexts), {});
  add_unless_default(params, std::move(expire_ats_us), {});
  add_unless_default(params, std::move(expire_in_ms), {});
  add_unless_default(params, std::move(tags), {});
  return params;
}

}  // namespace

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
