// Lines of `dogged enqueue --ndjson`. The command takes a line apart by hand, so that numbers in args keep their
// digits. The result is compared with a JSON parser's.
#include <nlohmann/json.hpp>

#include <dogged/client.hpp>

#include "cli/input/new_tasks.hpp"
#include "cli/render/moment.hpp"
#include "fuzz.hpp"
#include "text/duration.hpp"

using nlohmann::json;
using namespace dogged;

namespace {

void require_same(const NewTask& task, const json& line) {
  const auto text = [&line](const char* key) { return line.value(key, std::string{}); };
  fuzz::require(task.name == text("name"), "the name is the line's", task.name);
  fuzz::require(task.options.queue == text("queue"), "the queue is the line's", task.options.queue);
  fuzz::require(task.options.trace_context == text("trace_context"), "the trace context is the line's");
  fuzz::require(json::parse(task.args_json) == line.value("args", json::object()), "the args are the line's",
                task.args_json);
  const std::string priority = std::to_string(task.options.priority);  // as text: -1 and 2^64 - 1 are equal as json
  fuzz::require(line.value("priority", json(0)).dump() == priority, "the priority is the line's", priority);
  fuzz::require(line.contains("in") == task.options.delay.has_value(), "in is taken where it is there");
  fuzz::require(line.contains("at") == task.options.run_at.has_value(), "at is taken where it is there");
  fuzz::require(line.contains("expires_in") == task.options.expires_in.has_value(), "expires_in is taken");
  fuzz::require(line.contains("expires_at") == task.options.expires_at.has_value(), "expires_at is taken");
  fuzz::require(json(task.options.tags) == line.value("tags", json::array()), "the tags are the line's");
  const std::string version = std::to_string(task.args_version);
  fuzz::require(line.value("args_version", json(1)).dump() == version, "the version of the args is the line's",
                version);
  fuzz::require(line.contains("parent") == task.options.parent.has_value(), "parent is taken where it is there");
  if (task.options.expires_in) {
    fuzz::require(*task.options.expires_in == duration_from_text(text("expires_in")), "expires_in is the line's");
  }
  if (task.options.expires_at) {
    fuzz::require(*task.options.expires_at == cli::time_from_iso8601(text("expires_at")), "expires_at is the line's");
  }
  if (task.options.delay) {
    fuzz::require(*task.options.delay == duration_from_text(text("in")), "in is the line's");
  }
  if (task.options.run_at) {
    fuzz::require(*task.options.run_at == cli::time_from_iso8601(text("at")), "at is the line's");
  }
}

}  // namespace

FUZZ_TARGET(new_task_line, input) {
  try {
    cli::PointerTexts pointers;
    const NewTask task = cli::task_from_json_line(input, pointers);
    const json line = json::parse(input);
    require(!task.name.empty() && line.is_object(), "a task has a name");
    require_same(task, line);
  } catch (const InvalidInput& error) {
    require_sound_message(error);
  }
}
