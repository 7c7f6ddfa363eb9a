// `dogged schedules`: tasks that are enqueued periodically. Lists and shows schedules, creates, changes, pauses, runs,
// backfills, renames and deletes them.
#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>

#include <nlohmann/json.hpp>

#include "cli/changes/audited_change.hpp"
#include "cli/commands/commands.hpp"
#include "cli/input/choices.hpp"
#include "cli/input/filter_text.hpp"
#include "cli/input/new_tasks.hpp"
#include "cli/io/more.hpp"
#include "cli/io/task_rows.hpp"
#include "cli/options/existing.hpp"
#include "cli/options/time_option.hpp"
#include "cli/render/json_object.hpp"
#include "cli/render/text.hpp"
#include "sql/commands.hpp"
#include "text/counted.hpp"
#include "text/duration.hpp"

namespace dogged::cli {
namespace {

constexpr std::chrono::hours longest_catch_up{366 * 24};  // as require_schedule_settings

const std::vector<Column> schedule_columns{{.title = "SCHEDULE", .least = 24, .cut = Cut::middle},
                                           {.title = "STATE"},
                                           {.title = "SPEC", .least = 12},
                                           {.title = "ZONE", .rank = 2},
                                           {.title = "TASK", .rank = 1, .least = 16, .cut = Cut::middle},
                                           {.title = "NEXT"},
                                           {.title = "LAST", .rank = 3},
                                           {.title = "OUTCOME", .rank = 4, .least = 16},
                                           {.title = "OVERLAP", .rank = 5}};

const std::vector<Column> tick_columns{{.title = "TICK"},
                                       {.title = "OUTCOME"},
                                       {.title = "LATE", .align = Align::right, .rank = 1},
                                       {.title = "TASK", .align = Align::right},
                                       {.title = "STATUS"},
                                       {.title = "WHY", .rank = 2, .least = 16}};

using Schedule = sql::ListSchedules::Row;
using Tick = sql::ScheduleLastTicks::Row;

Color schedule_color(std::string_view state) {
  if (state == "active") return Color::green;
  return state == "ended" ? Color::dim : Color::yellow;
}

Color tick_color(std::string_view outcome) { return outcome == "fired" ? Color::green : Color::yellow; }

JsonObject members_of(const Schedule& schedule) {
  JsonObject json;
  json.add("name", schedule.name)
      .add("state", schedule.state)
      .add("task", schedule.task)
      .add("spec", schedule.spec)
      .add("time_zone", schedule.time_zone)
      .add_json("args", schedule.args)
      .add("args_version", schedule.args_version)
      .add("queue", schedule.queue)
      .add("priority", schedule.priority)
      .add("jitter_ms", schedule.jitter_ms)
      .add("overlap", schedule.overlap)
      .add("catch_up_ms", schedule.catch_up_ms)
      .add("catch_up_limit", schedule.catch_up_limit)
      .add("is_declared", schedule.is_declared)
      .add("next_at", time_from_microseconds(schedule.next_at_us))
      .add("overdue_ms", schedule.overdue_us ? std::optional{*schedule.overdue_us / 1000} : std::nullopt)
      .add("paused_at", time_from_microseconds(schedule.paused_at_us))
      .add("last_at", time_from_microseconds(schedule.last_at_us))
      .add("last_outcome", schedule.last_outcome)
      .add("last_reason", schedule.last_reason)
      .add("last_late_ms", schedule.last_late_ms)
      .add("last_task_id", schedule.last_task_id)
      .add("created_at", time_from_microseconds(schedule.created_at_us))
      .add("changed_at", time_from_microseconds(schedule.changed_at_us));
  return json;
}

Cell moment_cell(std::optional<std::int64_t> at_us, Time now, Zone zone) {
  const auto at = time_from_microseconds(at_us);
  return at ? time_cell(*at, now, zone) : Cell{""};
}

Cell next_cell(const Schedule& schedule, Time now, Zone zone) {
  if (schedule.overdue_us) return {"overdue " + short_duration(microseconds{*schedule.overdue_us}), Color::yellow};
  return schedule.paused_at_us ? Cell{""} : moment_cell(schedule.next_at_us, now, zone);
}

std::string overdue_text(const Schedule& schedule) {
  if (!schedule.overdue_us) return "";
  return "by " + readable(std::chrono::round<std::chrono::seconds>(microseconds{*schedule.overdue_us})) +
         (schedule.has_live_worker ? ": workers are alive, and none has fired it; dogged doctor"
                                   : ": no worker is alive");
}

std::string outcome_text(const std::optional<std::string>& outcome, const std::optional<std::string>& reason) {
  return outcome.value_or("") + (reason ? ": " + *reason : "");
}

Record schedule_record(const Schedule& schedule, Zone zone) {
  const Time now = time_from_microseconds(schedule.now_us);
  return {{{schedule.name},
           {schedule.state, schedule_color(schedule.state)},
           {schedule.spec},
           {schedule.time_zone},
           {schedule.task},
           next_cell(schedule, now, zone),
           moment_cell(schedule.last_at_us, now, zone),
           {outcome_text(schedule.last_outcome, schedule.last_reason)},
           {schedule.overlap}},
          members_of(schedule).text()};
}

struct ScheduleFilter {
  std::vector<std::string> states, tasks;
  std::string after;
  std::int64_t limit = 0;  ///< 0: all
};

ExitCode list_schedules(const Invocation& invocation, const ScheduleFilter& filter) {
  db::Connection connection = invocation.connect();
  sql::ListSchedules listed{.name = std::nullopt,
                            .states = std::nullopt,
                            .tasks = std::nullopt,
                            .after = given(filter.after),
                            .most = given(filter.limit)};
  if (!filter.states.empty()) listed.states = filter.states;
  if (!filter.tasks.empty()) {
    listed.tasks.emplace();
    for (const std::string& glob : filter.tasks) listed.tasks->push_back(like_pattern(glob));
  }
  const bool is_filtered = listed.states || listed.tasks || listed.after;
  std::vector<Record> records;
  std::string last;
  for (const Schedule& schedule : connection.run(listed)) {
    records.push_back(schedule_record(schedule, invocation.style().zone));
    last = schedule.name;
  }
  invocation.print(schedule_columns, records, is_filtered ? "no such schedules" : "no schedules");
  if (listed.most && std::ssize(records) == filter.limit) {
    say_there_may_be_more(invocation, "there may be more: --after " + last + " continues", json_string(last));
  }
  return ExitCode::ok;
}

Schedule read_schedule(db::Connection& connection, const std::string& name) {
  return db::one(connection.run(sql::ListSchedules{
      .name = name, .states = std::nullopt, .tasks = std::nullopt, .after = std::nullopt, .most = std::nullopt}));
}

// --- one schedule ----------------------------------------------------------------------------------------------------

Record tick_record(const Tick& tick, Time now, Zone zone) {
  JsonObject json;
  json.add("scheduled_at", time_from_microseconds(tick.scheduled_at_us))
      .add("outcome", tick.outcome)
      .add("reason", tick.reason)
      .add("origin", tick.origin)
      .add("decided_at", time_from_microseconds(tick.decided_at_us))
      .add("late_ms", tick.late_ms)
      .add("task_id", tick.task_id)
      .add("task_status", tick.task_status)
      .add("skipped_until", time_from_microseconds(tick.skipped_until_us));
  const auto until = time_from_microseconds(tick.skipped_until_us);
  const std::string why = tick.reason.value_or(tick.origin == "clock" ? "" : tick.origin) +
                          (until ? ", all until " + date_and_clock_text(*until, zone) : "");
  return {{time_cell(time_from_microseconds(tick.scheduled_at_us), now, zone),
           {tick.outcome, tick_color(tick.outcome)},
           {tick.late_ms ? readable(milliseconds{*tick.late_ms}) : ""},
           {tick.task_id ? std::to_string(*tick.task_id) : ""},
           {tick.task_status.value_or("")},
           {why}},
          json.text()};
}

std::string catch_up_text(const Schedule& schedule) {
  if (schedule.catch_up_limit == 0) return "none";
  const std::string which = schedule.catch_up_limit ? "the latest " + std::to_string(*schedule.catch_up_limit) : "all";
  return which + (schedule.catch_up_ms ? " of the last " + readable(milliseconds{*schedule.catch_up_ms}) : "");
}

std::string when_it_fires(const Schedule& schedule, Time fires_at) {
  if (schedule.paused_at_us) return "if it were not paused";
  const Time now = time_from_microseconds(schedule.now_us);
  if (fires_at <= now) return "due, waits for a worker";
  return (schedule.jitter_ms > 0 ? "fires " : "") + relative(fires_at, now);
}

/// The error is that of a server which does not know the time zone any more.
struct NextTicks {
  std::vector<sql::ScheduleNextTicks::Row> ticks;
  std::optional<std::string> error;
};

NextTicks read_next_ticks(db::Connection& connection, const std::string& name) {
  try {
    return {connection.run(sql::ScheduleNextTicks{.name = name}), std::nullopt};
  } catch (const InvalidInput& error) {
    return {{}, error.message()};
  }
}

std::string show_text(const Schedule& schedule, const NextTicks& next, const std::vector<Record>& ticks,
                      const Style& style) {
  std::string text = style.paint(Color::bold, "Schedule " + harmless(schedule.name, style.unicode)) + "  " +
                     style.paint(schedule_color(schedule.state), schedule.state) + "\n";
  const auto add = [&](const char* title, const std::string& value) {
    if (!value.empty()) text += "  " + pad_right(title, 11) + harmless(value, style.unicode) + "\n";
  };
  add("spec", schedule.spec + "  in " + schedule.time_zone);
  add("task", schedule.task + " " + schedule.args);
  add("version", schedule.args_version == 1 ? "" : std::to_string(schedule.args_version) + " of the args");
  add("queue", schedule.queue.value_or(""));
  add("priority", schedule.priority == 0 ? "" : std::to_string(schedule.priority));
  add("jitter", schedule.jitter_ms == 0 ? "" : "up to " + readable(milliseconds{schedule.jitter_ms}));
  add("overlap", schedule.overlap);
  add("catch-up", catch_up_text(schedule));
  add("declared", schedule.is_declared ? "by a program" : "");
  add("created", date_and_clock_text(time_from_microseconds(schedule.created_at_us), style.zone));
  add("changed", schedule.changed_at_us == schedule.created_at_us
                     ? ""
                     : date_and_clock_text(time_from_microseconds(schedule.changed_at_us), style.zone));
  add("paused", schedule.paused_at_us
                    ? "since " + date_and_clock_text(time_from_microseconds(*schedule.paused_at_us), style.zone)
                    : "");
  if (schedule.passed_over_text) {
    add("not at", *schedule.passed_over_text + ": the server's clock was ahead; dogged schedules resume " +
                      schedule.name + " --from-now");
  }
  add("overdue", overdue_text(schedule));
  std::string title = "next";
  if (next.error) add("next", "unknown: " + *next.error);
  for (const auto& tick : next.ticks) {
    std::string local_at = tick.local_at;
    std::replace(local_at.begin(), local_at.end(), 'T', ' ');
    add(title.c_str(), tick.weekday + " " + local_at + tick.zone_offset + "  " +
                           when_it_fires(schedule, time_from_microseconds(tick.fires_at_us)));
    title = "";
  }
  if (ticks.empty()) return text;
  std::vector<std::vector<Cell>> cells;
  for (const Record& tick : ticks) cells.push_back(tick.cells);
  return text + "\n" + render_table(tick_columns, cells, style);
}

struct ShowArguments {
  std::string name;
  int ticks = 10;
};

ExitCode show_schedule(const Invocation& invocation, const ShowArguments& arguments) {
  const std::string& name = arguments.name;
  db::Connection connection = invocation.connect();
  require_existing(connection, Noun::schedule, {name});
  const Schedule schedule = read_schedule(connection, name);
  const NextTicks next = read_next_ticks(connection, name);
  const Style style = invocation.table_style();
  std::vector<Record> ticks;
  for (const Tick& tick : connection.run(sql::ScheduleLastTicks{.name = name, .most = arguments.ticks})) {
    ticks.push_back(tick_record(tick, time_from_microseconds(schedule.now_us), style.zone));
  }
  std::vector<std::string> next_json;
  for (const auto& tick : next.ticks) {
    next_json.push_back(JsonObject{}
                            .add("scheduled_at", time_from_microseconds(tick.at_us))
                            .add("local", tick.local_at + tick.zone_offset)
                            .add("fires_at", time_from_microseconds(tick.fires_at_us))
                            .text());
  }
  std::vector<std::string> ticks_json;
  for (const Record& tick : ticks) ticks_json.push_back(tick.json);
  JsonObject json = members_of(schedule);
  json.add_json("next", json_array(next_json)).add("next_error", next.error).add_json("ticks", json_array(ticks_json));
  invocation.print(show_text(schedule, next, ticks, style), json.text());
  return ExitCode::ok;
}

// --- changes ---------------------------------------------------------------------------------------------------------

struct ScheduleArguments {
  std::string name, task, spec, time_zone, args, queue, overlap, jitter, catch_up, catch_up_runs;
  std::int64_t priority = 0, args_version = 0;
  bool allow_frequent = false;
};

/// `1h`, `all` or `none`; and how many of these ticks.
void add_catch_up(nlohmann::json& settings, const ScheduleArguments& arguments) {
  if (arguments.catch_up == "none") {
    if (!arguments.catch_up_runs.empty()) {
      throw InvalidInput("--catch-up none makes up for nothing, so that --catch-up-runs has no effect",
                         "leave one of the two out");
    }
    settings["catch_up_limit"] = 0;
  } else if (arguments.catch_up == "all") {
    settings["catch_up_ms"] = nullptr;
    settings["catch_up_limit"] = nullptr;
  } else if (!arguments.catch_up.empty()) {
    settings["catch_up_ms"] = duration_from_text(arguments.catch_up).count();
  }
  if (arguments.catch_up_runs == "all") {
    settings["catch_up_limit"] = nullptr;
  } else if (!arguments.catch_up_runs.empty()) {
    settings["catch_up_limit"] = std::stoll(arguments.catch_up_runs);
  }
}

/// The settings that were given, as a JSON object. Args go through as the text that they are.
std::string schedule_settings_of(const CLI::App& command, const ScheduleArguments& arguments) {
  nlohmann::json settings = nlohmann::json::object();
  const auto add = [&](const char* key, const std::string& value) {
    if (!value.empty()) settings[key] = value;
  };
  add("task", arguments.task);
  add("spec", arguments.spec);
  add("time_zone", arguments.time_zone);
  add("overlap", arguments.overlap);
  if (arguments.queue == "none") {
    settings["queue"] = nullptr;
  } else {
    add("queue", arguments.queue);
  }
  if (!arguments.jitter.empty()) settings["jitter_ms"] = duration_from_text(arguments.jitter).count();
  add_catch_up(settings, arguments);
  if (command.count("--priority") > 0) settings["priority"] = arguments.priority;
  if (command.count("--args-version") > 0) settings["args_version"] = arguments.args_version;
  if (arguments.allow_frequent) settings["allow_frequent"] = true;
  std::string text = settings.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  if (arguments.args.empty()) return text;
  require_json("--args", arguments.args);
  text.pop_back();
  return text + (settings.empty() ? "" : ",") + "\"args\":" + arguments.args + "}";
}

/// `report.make at 0 3 * * * in Europe/Berlin: next 2026-11-27 03:00:00`
std::string when_text(const Schedule& schedule) {
  return schedule.task + " at " + schedule.spec + " in " + schedule.time_zone +
         (schedule.paused_at_us ? ": paused"
          : schedule.next_text  ? ": next " + *schedule.next_text
                                : "");
}

/// A task that no worker knows waits for one.
std::string note_on_task(const Schedule& schedule) {
  if (schedule.state != "unknown task") return "";
  return "note: no worker has declared the task " + schedule.task + ": what the schedule enqueues waits for one\n";
}

/// Names the first time that the schedule passes over, because the server's clock was ahead when the schedule's next
/// time was set.
std::string note_on_clock(const Schedule& schedule) {
  if (!schedule.passed_over_text) return "";
  return "note: the schedule does not fire at " + *schedule.passed_over_text +
         ": the server's clock was ahead. dogged schedules resume " + schedule.name +
         " --from-now starts the schedule at now\n";
}

void print_schedule(const Invocation& invocation, db::Connection& connection, const std::string& name,
                    const std::string& what) {
  const Schedule schedule = read_schedule(connection, name);
  invocation.print(
      "schedule " + name + what + when_text(schedule) + "\n" + note_on_task(schedule) + note_on_clock(schedule),
      members_of(schedule).text());
}

ExitCode create_schedule(const Invocation& invocation, const CLI::App& command, const ScheduleArguments& arguments) {
  const std::string settings = schedule_settings_of(command, arguments);
  db::Connection connection = invocation.connect();
  run_audited(connection, sql::CreateSchedule{.name = arguments.name, .settings = settings});
  print_schedule(invocation, connection, arguments.name, " enqueues ");
  return ExitCode::ok;
}

ExitCode set_schedule(const Invocation& invocation, const CLI::App& command, const ScheduleArguments& arguments) {
  const std::string settings = schedule_settings_of(command, arguments);
  if (settings == "{}") {
    throw Failure(ExitCode::wrong_input, "there is nothing to set for schedule " + harmless(arguments.name, true),
                  "give --spec, --time-zone, --args or another setting: dogged schedules set --help");
  }
  db::Connection connection = invocation.connect();
  require_existing(connection, Noun::schedule, {arguments.name});
  const auto [changed] =
      db::one(run_audited(connection, sql::SetSchedule{.name = arguments.name, .settings = settings}));
  print_schedule(invocation, connection, arguments.name, changed ? " now enqueues " : " was so before: ");
  return ExitCode::ok;
}

ExitCode pause_schedule(const Invocation& invocation, const std::string& name) {
  db::Connection connection = invocation.connect();
  require_existing(connection, Noun::schedule, {name});
  const auto [changed] = db::one(run_audited(connection, sql::PauseSchedule{.name = name}));
  print_schedule(invocation, connection, name, changed ? " is paused: " : " was paused before: ");
  return ExitCode::ok;
}

struct ResumeArguments {
  std::string name;
  bool from_now = false;
};

ExitCode resume_schedule(const Invocation& invocation, const ResumeArguments& arguments) {
  db::Connection connection = invocation.connect();
  require_existing(connection, Noun::schedule, {arguments.name});
  const auto [changed] =
      db::one(run_audited(connection, sql::ResumeSchedule{.name = arguments.name, .from_now = arguments.from_now}));
  print_schedule(invocation, connection, arguments.name,
                 changed              ? " goes on: "
                 : arguments.from_now ? " was not paused, and passes over no time: "
                                      : " was not paused: ");
  return ExitCode::ok;
}

ExitCode run_schedule(const Invocation& invocation, const std::string& name) {
  db::Connection connection = invocation.connect();
  require_existing(connection, Noun::schedule, {name});
  const auto [id] = db::one(run_audited(connection, sql::RunSchedule{.name = name}));
  invocation.print("schedule " + name + " runs now as task " + std::to_string(id) + "\n",
                   JsonObject{}.add("name", name).add("task_id", id).text());
  return ExitCode::ok;
}

struct BackfillArguments {
  std::string name, from, until, overlap = "buffer_all";
};

ExitCode backfill_schedule(const Invocation& invocation, const BackfillArguments& arguments) {
  db::Connection connection = invocation.connect();
  require_existing(connection, Noun::schedule, {arguments.name});
  const Time now = now_of(connection);
  const Zone zone = invocation.style().zone;
  const Time from = past_time_of(arguments.from, now, zone).value();
  const Time until = past_time_of(arguments.until, now, zone).value_or(now);
  const auto [ticks, is_paused] =
      db::one(run_audited(connection, sql::BackfillSchedule{.name = arguments.name,
                                                            .from_us = from.time_since_epoch().count(),
                                                            .until_us = until.time_since_epoch().count(),
                                                            .overlap = arguments.overlap}));
  invocation.print("schedule " + arguments.name + " makes up for " + counted(ticks, "tick") +
                       (arguments.overlap == "allow_all" ? ", all at once" : ", one after the other") + "\n" +
                       (is_paused && ticks > 0 && arguments.overlap != "allow_all"
                            ? "the schedule is paused: one of them starts now at most, and the others wait for\n"
                              "dogged schedules resume " +
                                  arguments.name + "\n"
                            : ""),
                   JsonObject{}.add("name", arguments.name).add("ticks", ticks).text());
  return ExitCode::ok;
}

struct NewNameArguments {
  std::string name, new_name;
};

ExitCode rename_schedule(const Invocation& invocation, const NewNameArguments& arguments) {
  db::Connection connection = invocation.connect();
  require_existing(connection, Noun::schedule, {arguments.name});
  run_audited(connection, sql::RenameSchedule{.name = arguments.name, .new_name = arguments.new_name});
  print_schedule(invocation, connection, arguments.new_name, ", as it is called now, enqueues ");
  return ExitCode::ok;
}

ExitCode delete_schedule(const Invocation& invocation, const std::string& name) {
  db::Connection connection = invocation.connect();
  require_existing(connection, Noun::schedule, {name});
  run_audited(connection, sql::DeleteSchedule{.name = name});
  invocation.print("schedule " + name + " is deleted\n", JsonObject{}.add("name", name).text());
  return ExitCode::ok;
}

// --- the command line ------------------------------------------------------------------------------------------------

void add_schedule_name(CLI::App& command, std::string& name) {
  command.add_option("name", name, "As `dogged schedules list` gives it")->type_name("NAME")->required();
}

/// A whole number, or all.
CLI::Validator is_count_or_all() {
  return CLI::Validator{
      [](std::string& text) {
        const bool is_number = !text.empty() && text.size() <= 9 &&
                               std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
        return is_number || text == "all" ? std::string{} : "\"" + text + "\" is neither a number nor all";
      },
      ""};
}

/// A duration, or one of the words.
CLI::Validator is_catch_up() {
  return CLI::Validator{[](std::string& text) {
                          if (text == "all" || text == "none") return std::string{};
                          try {
                            if (duration_from_text(text) <= longest_catch_up) return std::string{};
                          } catch (const Error&) {  // the message below names the accepted values
                          }
                          return in_quotes(text) +
                                 " is not a duration up to 366d; write one such as 6h or 7d, all or none";
                        },
                        ""};
}

void add_settings(CLI::App& command, ScheduleArguments& arguments) {
  const Words overlaps{"skip", "buffer_one", "buffer_all", "cancel_other", "allow_all"};
  const auto add = [&](const char* option, std::string& value, const char* what, const char* type) {
    return command.add_option(option, value, what)->type_name(type)->check(is_not_empty());
  };
  add("--time-zone", arguments.time_zone, "The IANA time zone in which the spec is read; UTC unless said", "ZONE");
  add("--args", arguments.args, "The args of its tasks as JSON; {} unless said", "JSON");
  add("--queue", arguments.queue, "Their queue; none: the queue that the task's worker declares", "QUEUE");
  command.add_option("--priority", arguments.priority, "Their priority, -32768 to 32767; lower runs first")
      ->type_name("N");
  command.add_option("--args-version", arguments.args_version, "The version of the args in the task's key, 1 to 32767")
      ->type_name("N");
  command.add_option("--jitter", arguments.jitter, "Put each tick off by up to this long, at most 24h: 30s, 10m")
      ->type_name("DURATION")
      ->check(is_duration(std::chrono::hours{24}));
  command
      .add_option(
          "--overlap", arguments.overlap,
          "What to do while the task of an earlier tick has not ended: skip, buffer_one, buffer_all, cancel_other or "
          "allow_all; skip unless said")
      ->type_name("WHAT")
      ->check(is_one_of(overlaps, "an overlap"));
  command
      .add_option("--catch-up", arguments.catch_up,
                  "Make up for ticks that no worker could fire while they are no older than this, at most 366d: 6h, "
                  "all or none; "
                  "1h unless said")
      ->type_name("DURATION")
      ->check(is_catch_up());
  command
      .add_option("--catch-up-runs", arguments.catch_up_runs,
                  "For how many of them at most, the latest, or all; 1 unless said")
      ->type_name("N")
      ->check(is_count_or_all());
  command.add_flag("--allow-frequent", arguments.allow_frequent, "Let the spec fire more often than every 10 s");
}

void add_list_schedules(CLI::App& schedules, Invocation& invocation) {
  const auto filter = std::make_shared<ScheduleFilter>();
  CLI::App* command =
      add_command(schedules, invocation, "list", "List schedules with their next times and what became of the last",
                  "  dogged schedules list\n"
                  "  dogged schedules list --state orphaned,unknown\n"
                  "  dogged schedules list --task 'report.*' --limit 100 -o json",
                  [&invocation, filter] { return list_schedules(invocation, *filter); });
  const auto add_several = [&](const char* option, std::vector<std::string>& into, const char* what, const char* type) {
    return command->add_option(option, into, what)->type_name(type)->delimiter(',')->allow_extra_args(false);
  };
  add_several("--state", filter->states,
              "active, paused, ended, orphaned or unknown (no worker has declared the task); several with commas",
              "STATE")
      ->check(is_one_of({"active", "paused", "ended", "orphaned", "unknown"}, "a state"));
  add_several("--task", filter->tasks, "That enqueue this task; * stands for any text, ? for a character", "TASK");
  command->add_option("--limit", filter->limit, "How many; all unless said")->type_name("N")->check(is_limit());
  command->add_option("--after", filter->after, "Schedules with names behind this one: the next page")
      ->type_name("NAME")
      ->check(is_not_empty());
}

void add_show_schedule(CLI::App& schedules, Invocation& invocation) {
  const auto arguments = std::make_shared<ShowArguments>();
  CLI::App* command = add_command(schedules, invocation, "show",
                                  "Show a schedule, its next ten times and its last ticks with their tasks",
                                  "  dogged schedules show nightly-report\n"
                                  "  dogged schedules show nightly-report --ticks 100",
                                  [&invocation, arguments] { return show_schedule(invocation, *arguments); });
  add_schedule_name(*command, arguments->name);
  command->add_option("--ticks", arguments->ticks, "How many of the last ticks; 10 unless said")
      ->type_name("N")
      ->check(is_limit());
}

void add_create_schedule(CLI::App& schedules, Invocation& invocation) {
  const auto arguments = std::make_shared<ScheduleArguments>();
  const auto command = std::make_shared<CLI::App*>(nullptr);
  *command = add_command(
      schedules, invocation, "create", "Enqueue a task periodically",
      "  dogged schedules create nightly-report report.make '0 3 * * *' --time-zone Europe/Berlin\n"
      "  dogged schedules create cleanup files.clean @hourly --jitter 10m\n"
      "  dogged schedules create poll feed.poll 'every 90s' --args '{\"feed\": 7}' --overlap skip\n"
      "  dogged schedules create payday pay.all '0 9 L * *'           the last day of each month\n"
      "  dogged schedules create review review.open '0 9 * * 5#2'     the second Friday\n"
      "\nA spec has five fields: minute, hour, day of month, month, day of week; with six, the second comes first.\n"
      "See docs/schedules.md.",
      [&invocation, arguments, command] { return create_schedule(invocation, **command, *arguments); });
  (*command)->add_option("name", arguments->name, "1 to 128 of A-Z a-z 0-9 . _ : / -")->type_name("NAME")->required();
  (*command)->add_option("task", arguments->task, "The task to enqueue")->type_name("TASK")->required();
  (*command)
      ->add_option("spec", arguments->spec, "When: '0 3 * * *', @daily, 'every 90s'")
      ->type_name("SPEC")
      ->required();
  add_settings(**command, *arguments);
}

void add_set_schedule(CLI::App& schedules, Invocation& invocation) {
  const auto arguments = std::make_shared<ScheduleArguments>();
  const auto command = std::make_shared<CLI::App*>(nullptr);
  *command =
      add_command(schedules, invocation, "set", "Change what is set for a schedule; what is not named stays",
                  "  dogged schedules set nightly-report --spec '30 2 * * *'\n"
                  "  dogged schedules set poll --overlap buffer_one --catch-up none\n"
                  "\nA program that declares the schedule changes it again when the program declares something new.",
                  [&invocation, arguments, command] { return set_schedule(invocation, **command, *arguments); });
  add_schedule_name(**command, arguments->name);
  (*command)->add_option("--task", arguments->task, "The task to enqueue")->type_name("TASK")->check(is_not_empty());
  (*command)
      ->add_option("--spec", arguments->spec, "When: '0 3 * * *', @daily, 'every 90s'")
      ->type_name("SPEC")
      ->check(is_not_empty());
  add_settings(**command, *arguments);
}

void add_resume_schedule(CLI::App& schedules, Invocation& invocation) {
  const auto arguments = std::make_shared<ResumeArguments>();
  CLI::App* command = add_command(schedules, invocation, "resume", "Let a paused schedule go on with its next time",
                                  "  dogged schedules resume nightly-report\n"
                                  "  dogged schedules resume nightly-report --from-now   after a clock that was ahead",
                                  [&invocation, arguments] { return resume_schedule(invocation, *arguments); });
  add_schedule_name(*command, arguments->name);
  command->add_flag("--from-now", arguments->from_now,
                    "Start again at now, also where the server's clock was ahead and the next time lies far in the "
                    "future; a tick that has fired does not fire again");
}

void add_backfill_schedule(CLI::App& schedules, Invocation& invocation) {
  const auto arguments = std::make_shared<BackfillArguments>();
  CLI::App* command =
      add_command(schedules, invocation, "backfill", "Enqueue tasks for times that have passed and did not fire",
                  "  dogged schedules backfill nightly-report --from 2026-11-20 --until 2026-11-24\n"
                  "  dogged schedules backfill poll --from 2h --overlap allow_all\n"
                  "\nAt most 1,000 times. A time that has fired is left alone.",
                  [&invocation, arguments] { return backfill_schedule(invocation, *arguments); });
  add_schedule_name(*command, arguments->name);
  command->add_option("--from", arguments->from, "From this time on: a time, or how long ago")
      ->type_name("TIME")
      ->check(is_time_or_duration())
      ->required();
  command->add_option("--until", arguments->until, "Until before this time; now unless said")
      ->type_name("TIME")
      ->check(is_time_or_duration());
  command
      ->add_option("--overlap", arguments->overlap,
                   "buffer_all: one task after the other; allow_all: all at once; buffer_all unless said")
      ->type_name("WHAT")
      ->check(is_one_of({"buffer_all", "allow_all"}, "an overlap of a backfill"));
}

}  // namespace

void add_schedules(CLI::App& app, Invocation& invocation) {
  CLI::App* schedules = app.add_subcommand("schedules", "Look at schedules, create, pause and change them");
  schedules->require_subcommand(1);
  add_list_schedules(*schedules, invocation);
  const auto add_named = [&](const std::string& verb, const std::string& what, const std::string& example, auto how) {
    const auto name = std::make_shared<std::string>();
    add_schedule_name(*add_command(*schedules, invocation, verb, what, example,
                                   [&invocation, name, how] { return how(invocation, *name); }),
                      *name);
  };
  add_show_schedule(*schedules, invocation);
  add_create_schedule(*schedules, invocation);
  add_set_schedule(*schedules, invocation);
  add_named("pause", "Let a schedule fire nothing until it is resumed; its ticks of that time are not made up for",
            "  dogged schedules pause nightly-report", &pause_schedule);
  add_resume_schedule(*schedules, invocation);
  add_named("run", "Enqueue the task of a schedule now, whatever its overlap says",
            "  dogged schedules run nightly-report", &run_schedule);
  add_backfill_schedule(*schedules, invocation);
  const auto renaming = std::make_shared<NewNameArguments>();
  CLI::App* renames = add_command(*schedules, invocation, "rename",
                                  "Give a schedule another name; nothing that it has fired is fired again",
                                  "  dogged schedules rename nightly nightly-report",
                                  [&invocation, renaming] { return rename_schedule(invocation, *renaming); });
  add_schedule_name(*renames, renaming->name);
  renames->add_option("new_name", renaming->new_name, "1 to 128 of A-Z a-z 0-9 . _ : / -")
      ->type_name("NEW_NAME")
      ->required();
  add_named("delete", "Delete a schedule; tasks that it has enqueued run", "  dogged schedules delete nightly-report",
            &delete_schedule);
}

}  // namespace dogged::cli
