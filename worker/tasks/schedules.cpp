// See schedules.hpp.
#include "tasks/schedules.hpp"

#include <string_view>

#include <nlohmann/json.hpp>

#include <dogged/error.hpp>

#include "text/message.hpp"

namespace dogged::runtime {
namespace {

std::string_view word_of(Overlap overlap) {
  switch (overlap) {
    case Overlap::skip:
      return "skip";
    case Overlap::buffer_one:
      return "buffer_one";
    case Overlap::buffer_all:
      return "buffer_all";
    case Overlap::cancel_other:
      return "cancel_other";
    case Overlap::allow_all:
      return "allow_all";
  }
  return "";
}

[[noreturn]] void refuse_schedule(const detail::DeclaredSchedule& schedule, const std::string& mistake,
                                  const std::string& remedy) {
  throw InvalidInput("the schedule " + in_quotes(schedule.name) + ": " + mistake, remedy);
}

nlohmann::json args_of(const detail::DeclaredSchedule& schedule) {
  nlohmann::json args = nlohmann::json::parse(schedule.options.args, nullptr, false);
  if (args.is_discarded()) {
    refuse_schedule(schedule, "its args are not JSON: " + in_quotes(schedule.options.args),
                    "write them as {\"kind\": \"full\"}");
  }
  return args;
}

nlohmann::json settings_of_schedule(const detail::DeclaredSchedule& schedule, const Definition& task) {
  const ScheduleOptions& options = schedule.options;
  nlohmann::json settings{{"task", schedule.task()},
                          {"spec", schedule.spec},
                          {"time_zone", options.time_zone},
                          {"args", args_of(schedule)},
                          {"args_version", task.args_version},
                          {"queue", nullptr},
                          {"priority", options.priority},
                          {"jitter_ms", options.jitter.count()},
                          {"overlap", word_of(options.overlap)},
                          {"catch_up_ms", nullptr},
                          {"catch_up_limit", nullptr},
                          {"allow_frequent", options.allow_frequent}};
  if (options.queue) settings["queue"] = *options.queue;
  if (options.catch_up.window) settings["catch_up_ms"] = options.catch_up.window->count();
  if (options.catch_up.limit) settings["catch_up_limit"] = *options.catch_up.limit;
  if (!options.formerly.empty()) settings["formerly"] = options.formerly;
  return settings;
}

}  // namespace

std::string declarations_of(const std::vector<detail::DeclaredSchedule>& schedules, const Definitions& definitions) {
  nlohmann::json declarations = nlohmann::json::object();
  for (const detail::DeclaredSchedule& schedule : schedules) {
    const std::string name{schedule.name};
    if (detail::find_schedule_mistake(schedule)) {
      refuse_schedule(schedule, "one of its options is out of its range", "<dogged/schedule.hpp> has the ranges");
    }
    const auto task = definitions.find(schedule.task());
    if (task == definitions.end()) {
      refuse_schedule(schedule, "this program does not register its task " + in_quotes(schedule.task()),
                      "name the task by .task, or register it with TASK_REGISTER");
    }
    if (declarations.contains(name)) {
      refuse_schedule(schedule, "it is declared twice", "give each schedule a name of its own");
    }
    declarations[name] = settings_of_schedule(schedule, task->second);
  }
  return declarations.empty() ? "" : declarations.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace dogged::runtime
