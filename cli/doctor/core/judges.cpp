// See judges.hpp. Every threshold stands in a named constant.
#include "cli/doctor/core/judges.hpp"

#include <algorithm>
#include <map>
#include <set>

namespace dogged::cli::doctor {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;

// autovacuum starts on tasks_live at 1,000 dead rows and a fiftieth of it: far beyond that it cannot keep up.
constexpr std::int64_t many_dead_rows = 100'000;
constexpr std::int64_t too_many_dead_rows = 5'000'000;
// A row of tasks_live takes 4.5 kB at most (2 kB before its args are stored apart, in pages that are filled by 45 %).
constexpr std::int64_t noticeable_bytes = std::int64_t{64} << 20;
constexpr std::int64_t most_bytes_a_row = 20'000;

constexpr microseconds long_transaction = minutes{5};
constexpr microseconds too_long_transaction = hours{1};
constexpr microseconds long_wait = minutes{1};
constexpr std::int64_t many_transactions = 1'000'000;
constexpr std::int64_t too_many_transactions = 20'000'000;
constexpr std::int64_t much_wal = std::int64_t{1} << 30;

// A deploy restarts a worker within this time. Until then a wait is no reason to page somebody.
constexpr microseconds time_to_start = seconds{30};
constexpr microseconds time_to_rescue = minutes{1};
// NTP keeps clocks within some milliseconds: a second says that it does not work.
constexpr microseconds clocks_differ = seconds{1};
// The server stops to write at 2^31 less three millions, and warns 40 millions before.
constexpr std::int64_t old_transaction = 500'000'000;
constexpr std::int64_t too_old_transaction = 1'500'000'000;

// Fewer attempts say little about a queue.
constexpr std::int64_t enough_attempts = 100;
constexpr double large_retry_share = 0.5;
constexpr std::int64_t enough_dead_letters = 10;
// A live worker fires a tick within a second.
constexpr microseconds long_overdue = minutes{1};
constexpr microseconds late_tick = seconds{10};
constexpr microseconds long_pause = hours{7 * 24};
constexpr std::size_t most_named_schedules = 5;
constexpr std::int64_t growth_of_dead_letters = 10;  // times the average hour of the day before

std::string count(std::int64_t number, const std::string& singular, const std::string& plural) {
  return std::to_string(number) + " " + (number == 1 ? singular : plural);
}

std::string tasks(std::int64_t number) { return count(number, "task", "tasks"); }

std::string size(std::int64_t bytes) { return std::to_string(bytes >> 20) + " MiB"; }

std::int64_t milliseconds_of(microseconds time) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(time).count();
}

/// The findings, or a single finding that all is well.
Findings or_ok(Findings findings, const std::string& check, const std::string& seen) {
  if (findings.empty()) findings.push_back({check, Level::ok, std::nullopt, seen, "", ""});
  return findings;
}

/// `whose`: this host, or a worker's.
Finding clock_finding(const std::string& whose, std::optional<std::string> subject, microseconds ahead,
                      microseconds uncertainty) {
  const microseconds off = std::max(ahead, -ahead);
  Finding finding{"clock",
                  Level::ok,
                  std::move(subject),
                  "the clock of " + whose + " is " + readable(off) +
                      (ahead < microseconds{0} ? " behind" : " ahead of") + " the server's, give or take " +
                      readable(uncertainty),
                  "",
                  "",
                  {{"ahead_ms", milliseconds_of(ahead)}, {"uncertainty_ms", milliseconds_of(uncertainty)}}};
  if (off > clocks_differ + uncertainty) {
    finding.level = Level::warning;
    finding.why =
        "tasks are due by the server's clock: that host's logs do not fit the times in the tables, and a run_at that a "
        "program there computes from its clock is off by as much";
    finding.fix = "let NTP set the clocks of both";
  }
  return finding;
}

}  // namespace

Findings judge_partitions(const std::vector<PartitionFacts>& tables) {
  Findings findings;
  for (const PartitionFacts& table : tables) {
    const std::string& name = table.parent;
    if (table.missing > 0) {
      findings.push_back(
          {"partitions",
           table.missing_now > 0 ? Level::critical : Level::warning,
           name,
           name + " has no partition for " + count(table.missing, "day from today on", "days from today on"),
           "what ends on such a day goes into the default partition, which retention does not drop",
           "dogged maintain, and keep a worker running: each makes them every hour",
           {{"missing_days", table.missing}, {"missing_today_or_tomorrow", table.missing_now}}});
    }
    if (table.default_rows > 0) {
      findings.push_back({"partitions",
                          Level::warning,
                          name,
                          name + "_default has " + (table.default_rows >= 1'000'000 ? "at least " : "") +
                              count(table.default_rows, "row", "rows"),
                          "their day had no partition; retention cannot drop them, and moving many takes long",
                          "dogged maintain, when no long query reads " + name,
                          {{"default_rows", table.default_rows}}});
    }
    if (table.overdue > 0) {
      findings.push_back(
          {"partitions",
           Level::warning,
           name,
           count(table.overdue, "day", "days") + " of " + name + " should have been dropped more than a day ago",
           "the disk fills up; a long query or a backup may keep the table from retention",
           "dogged maintain, when it has ended (see the check snapshots)",
           {{"overdue_days", table.overdue}}});
    }
  }
  return or_ok(std::move(findings), "partitions", "every coming day has its partition, and no old one is left");
}

Findings judge_tables(const std::vector<TableFacts>& tables, const std::string& schema) {
  Findings findings;
  const bool is_server_on =
      std::all_of(tables.begin(), tables.end(), [](const TableFacts& t) { return t.is_server_autovacuum_on; });
  if (!is_server_on) {
    findings.push_back(
        {"vacuum", Level::critical, std::nullopt, "autovacuum or track_counts is off",
         "dead rows are never removed: claims become slower and slower",
         "alter system set autovacuum = on; alter system set track_counts = on; select pg_reload_conf()"});
  }
  for (const TableFacts& table : tables) {
    const std::string qualified = schema + "." + table.name;
    const std::vector<std::pair<std::string, std::int64_t>> figures{
        {"live_rows", table.live_rows}, {"dead_rows", table.dead_rows}, {"bytes", table.bytes}};
    if (!table.is_autovacuum_on) {
      findings.push_back({"vacuum", Level::critical, table.name, "autovacuum is disabled for " + table.name,
                          "dead rows are never removed: claims become slower and slower",
                          "alter table " + qualified + " reset (autovacuum_enabled)", figures});
    }
    if (table.dead_rows > many_dead_rows && table.dead_rows > table.live_rows) {
      const std::string last = table.vacuumed_ago ? "; vacuumed " + readable(*table.vacuumed_ago) + " ago"
                                                  : "; not vacuumed since the statistics began";
      findings.push_back({"vacuum", table.dead_rows > too_many_dead_rows ? Level::critical : Level::warning, table.name,
                          table.name + " has " + count(table.dead_rows, "dead row", "dead rows") + " beside " +
                              count(table.live_rows, "live one", "live ones") + last,
                          "claims walk over what vacuum has not removed",
                          "end what keeps vacuum away (see the check snapshots), then vacuum " + qualified, figures});
    }
    if (table.bytes > noticeable_bytes && table.bytes / std::max<std::int64_t>(table.live_rows, 1) > most_bytes_a_row) {
      findings.push_back(
          {"vacuum", Level::warning, table.name,
           table.name + " takes " + size(table.bytes) + " for " + count(table.live_rows, "live row", "live rows"),
           "a burst or a long transaction has blown it up; vacuum reads all of it again and again",
           "vacuum full " + qualified + " (stops claims for as long as it takes), or let it be reused", figures});
    }
  }
  return or_ok(std::move(findings), "vacuum", "autovacuum keeps up with the tables that see updates");
}

namespace {

std::string described(const SnapshotFacts& holder) {
  if (holder.kind == "prepared") return "prepared transaction " + holder.name + " of " + holder.user;
  if (holder.kind == "slot") return "replication slot " + holder.name + " (" + holder.state + ")";
  std::string text = holder.kind == "standby" ? "standby, pid " : "session, pid ";
  text += holder.name + ", user " + holder.user;
  if (!holder.application.empty()) text += ", application \"" + holder.application + "\"";
  if (!holder.state.empty()) text += ", " + holder.state;
  return text;
}

std::string fix_for(const SnapshotFacts& holder) {
  if (holder.kind == "prepared")
    return "commit prepared '" + holder.name + "', or rollback prepared '" + holder.name + "'";
  if (holder.kind == "slot") return "start its consumer, or select pg_drop_replication_slot('" + holder.name + "')";
  if (holder.kind == "standby") return "end the long query on the standby, or set hot_standby_feedback = off there";
  return "select pg_terminate_backend(" + holder.name + "); and set idle_in_transaction_session_timeout";
}

Level level_of(const SnapshotFacts& holder) {
  const microseconds held = holder.held.value_or(microseconds{0});
  const std::int64_t transactions = holder.transactions.value_or(0);
  if (held >= too_long_transaction || transactions >= too_many_transactions) return Level::critical;
  const bool keeps_wal = holder.kind == "slot" && holder.state == "inactive" && holder.wal_bytes.value_or(0) > much_wal;
  return held >= long_transaction || transactions >= many_transactions || keeps_wal ? Level::warning : Level::ok;
}

}  // namespace

Findings judge_snapshots(const std::vector<SnapshotFacts>& holders) {
  Findings findings;
  std::string note;
  microseconds longest{0};
  for (const SnapshotFacts& holder : holders) {
    if (holder.kind == "hidden") {
      note = "; " + holder.name + " sessions of other roles cannot be seen (grant pg_read_all_stats to this role)";
      continue;
    }
    longest = std::max(longest, holder.held.value_or(microseconds{0}));
    const Level level = level_of(holder);
    if (level == Level::ok) continue;
    Finding finding{"snapshots", level, holder.kind + " " + holder.name, described(holder), "", fix_for(holder)};
    if (holder.held) {
      finding.seen += ", open for " + readable(*holder.held);
      finding.figures.emplace_back("held_ms", milliseconds_of(*holder.held));
    }
    if (holder.transactions) {
      finding.seen += ", a snapshot that is " + count(*holder.transactions, "transaction", "transactions") + " old";
      finding.figures.emplace_back("transactions", *holder.transactions);
    }
    if (holder.wal_bytes) {
      finding.seen += ", keeps " + size(*holder.wal_bytes) + " of WAL";
      finding.figures.emplace_back("wal_bytes", *holder.wal_bytes);
    }
    if (!holder.query.empty()) finding.seen += ": " + holder.query;
    finding.why = holder.kind == "slot" && !holder.transactions
                      ? "the disk fills up with what the slot's consumer has not read"
                      : "vacuum removes nothing that ended since, and retention may wait for its locks";
    findings.push_back(std::move(finding));
  }
  return or_ok(std::move(findings), "snapshots",
               (longest > microseconds{0} ? "the longest open transaction is " + readable(longest) + " old"
                                          : "no other transaction is open") +
                   note);
}

Findings judge_workers(const std::vector<WorkerFacts>& workers) {
  Findings findings;
  const auto live = std::count_if(workers.begin(), workers.end(), [](const WorkerFacts& w) { return w.is_live; });
  for (const WorkerFacts& worker : workers) {
    const std::string subject = "worker " + worker.name;
    const std::string named = subject + " (" + std::to_string(worker.id) + ")";
    const microseconds since = worker.lapsed ? *worker.lapsed : worker.unrescued.value_or(microseconds{0});
    if (since > time_to_rescue + worker.lease) {
      findings.push_back({"workers",
                          worker.held_tasks > 0 ? Level::critical : Level::warning,
                          subject,
                          named +
                              (worker.lapsed ? " has not renewed its lease, which lapsed "
                                             : " is not rescued, though its lease was ended ") +
                              readable(since) + " ago; it holds " + tasks(worker.held_tasks),
                          "what it holds runs again only when another worker has rescued it",
                          live > 0 ? "read the log of a live worker for why it does not rescue it"
                                   : "start a worker: it rescues what others have left",
                          {{"since_ms", milliseconds_of(since)}, {"held_tasks", worker.held_tasks}}});
    }
    if (worker.holds_lease && worker.abandoned_threads > 0) {
      findings.push_back({"workers",
                          Level::warning,
                          subject,
                          named + " carries " +
                              count(worker.abandoned_threads, "thread whose handler", "threads whose handlers") +
                              " did not end when asked to",
                          "each takes memory, and whatever it waits for; with too many the worker restarts",
                          "let the handler look at ctx.stop_token(), and give its calls a timeout",
                          {{"abandoned_threads", worker.abandoned_threads}}});
    }
  }
  return or_ok(std::move(findings), "workers",
               count(live, "worker lives", "workers live") + ", and none has left tasks behind");
}

Findings judge_versions(const std::vector<WorkerFacts>& workers, const std::string& own_version) {
  std::map<std::string, std::int64_t> versions;
  for (const WorkerFacts& worker : workers) {
    if (worker.is_live) ++versions[worker.version];
  }
  const bool is_one = versions.empty() || (versions.size() == 1 && versions.begin()->first == own_version);
  if (is_one) return or_ok({}, "versions", "workers and this program are of version " + own_version);
  std::string seen;
  for (const auto& [version, number] : versions) {
    seen += (seen.empty() ? "" : ", ") + count(number, "worker", "workers") + " of version " + version;
  }
  return {{"versions",
           Level::warning,
           std::nullopt,
           seen + "; this program is of version " + own_version,
           "a rolling deploy has not ended, or has left something out",
           "restart the workers that were left out",
           {{"versions", static_cast<std::int64_t>(versions.size())}}}};
}

namespace {

/// The tasks that wait in each paused queue.
Findings judge_paused(const std::vector<WaitingFacts>& waiting) {
  std::map<std::string, WaitingFacts> paused;
  for (const WaitingFacts& facts : waiting) {
    if (!facts.is_paused) continue;
    WaitingFacts& queue = paused[facts.queue];
    queue.due += facts.due;
    queue.oldest = std::max(queue.oldest, facts.oldest);
    queue.resumes_in = facts.resumes_in;
  }
  Findings findings;
  for (const auto& [name, queue] : paused) {
    findings.push_back({"queues",
                        Level::warning,
                        "queue " + name,
                        tasks(queue.due) + " in queue " + name + " waited for up to " + readable(queue.oldest) +
                            ": the queue is paused",
                        queue.resumes_in ? "they do not run for another " + readable(*queue.resumes_in)
                                         : "they do not run until somebody resumes it",
                        "dogged queues resume " + name,
                        {{"due_tasks", queue.due}, {"oldest_ms", milliseconds_of(queue.oldest)}}});
  }
  return findings;
}

Level level_of_wait(microseconds oldest) { return oldest < time_to_start ? Level::warning : Level::critical; }

std::string waited(const WaitingFacts& facts) {
  return tasks(facts.due) + " named " + facts.name + " in queue " + facts.queue + " waited for up to " +
         readable(facts.oldest);
}

Finding undeclared(const WaitingFacts& facts) {
  return {"queues",
          level_of_wait(facts.oldest),
          "task " + facts.name,
          waited(facts) + ": no worker has ever declared the name" + facts.near,
          "they run only when a worker knows the name, and no error tells of it",
          "start a worker that registers " + facts.name +
              "; of a misspelt name, cancel the tasks: dogged tasks list --status pending --name " + facts.name +
              " -o ndjson | jq .id | dogged tasks cancel -",
          {{"due_tasks", facts.due}, {"oldest_ms", milliseconds_of(facts.oldest)}}};
}

}  // namespace

Findings judge_waiting(const std::vector<WaitingFacts>& waiting) {
  Findings findings = judge_paused(waiting);
  std::map<std::string, WaitingFacts> unserved;
  for (const WaitingFacts& facts : waiting) {
    if (!facts.is_declared && !facts.is_name_known) {
      findings.push_back(undeclared(facts));
    } else if (!facts.is_queue_served) {
      WaitingFacts& queue = unserved[facts.queue];
      queue.due += facts.due;
      queue.oldest = std::max(queue.oldest, facts.oldest);
    } else if (!facts.is_name_known) {
      findings.push_back({"queues",
                          level_of_wait(facts.oldest),
                          "task " + facts.name,
                          waited(facts) + ": no live worker of the queue knows the name",
                          "they do not run, and no error tells of it",
                          "start a worker that registers " + facts.name + " with --queues " + facts.queue + ":10",
                          {{"due_tasks", facts.due}, {"oldest_ms", milliseconds_of(facts.oldest)}}});
    } else if (facts.known_args_version && facts.args_version > *facts.known_args_version) {
      findings.push_back({"queues",
                          level_of_wait(facts.oldest),
                          "task " + facts.name,
                          tasks(facts.due) + " named " + facts.name + " with args of version " +
                              std::to_string(facts.args_version) + " in queue " + facts.queue + " waited for up to " +
                              readable(facts.oldest) + ": the live workers of the queue know version " +
                              std::to_string(*facts.known_args_version),
                          "they wait for a newer worker, and no error tells of it",
                          "deploy a worker whose key of " + facts.name + " has version " +
                              std::to_string(facts.args_version) + " or a later one",
                          {{"due_tasks", facts.due},
                           {"oldest_ms", milliseconds_of(facts.oldest)},
                           {"args_version", std::int64_t{facts.args_version}}}});
    }
  }
  for (const auto& [name, queue] : unserved) {
    findings.push_back({"queues",
                        level_of_wait(queue.oldest),
                        "queue " + name,
                        tasks(queue.due) + " in queue " + name + " waited for up to " + readable(queue.oldest) +
                            ": no live worker serves the queue",
                        "they do not run",
                        "start a worker with --queues " + name + ":10",
                        {{"due_tasks", queue.due}, {"oldest_ms", milliseconds_of(queue.oldest)}}});
  }
  return or_ok(std::move(findings), "queues",
               "every task whose time has come has a live worker that knows it, in a queue that is not paused");
}

Findings judge_overdue(const std::vector<WaitingFacts>& waiting) {
  Findings findings;
  std::map<std::string, WaitingFacts> by_queue;
  for (const WaitingFacts& facts : waiting) {
    if (!facts.is_queue_served || !facts.is_name_known || facts.is_paused || facts.overdue == 0) continue;
    WaitingFacts& queue = by_queue[facts.queue];
    queue.overdue += facts.overdue;
    queue.oldest = std::max(queue.oldest, facts.oldest);
  }
  for (const auto& [name, queue] : by_queue) {
    findings.push_back({"overdue",
                        Level::warning,
                        "queue " + name,
                        tasks(queue.overdue) + " in queue " + name +
                            " still waiting for a retry or a first run, more than a minute after the time",
                        "its workers do not look: they hang, or wait for a lock",
                        "dogged workers, and the log of those that serve the queue",
                        {{"overdue_tasks", queue.overdue}, {"oldest_ms", milliseconds_of(queue.oldest)}}});
  }
  return or_ok(std::move(findings), "overdue", "no task waits beyond its time where a live worker serves it");
}

Findings judge_running(const std::vector<RunningFacts>& running) {
  Findings findings;
  for (const RunningFacts& facts : running) {
    const std::string seen = tasks(facts.tasks) + " named " + facts.name + ", the first " +
                             std::to_string(facts.first_id) + ", for up to " + readable(facts.longest);
    findings.push_back(
        {"running",
         facts.is_orphaned ? Level::critical : Level::warning,
         "task " + facts.name,
         seen + (facts.is_orphaned ? ": running under a worker that is gone" : ": beyond the timeout"),
         facts.is_orphaned ? "nobody will end or rescue them"
                           : "its worker did not end them by --stop-grace after their timeout",
         "dogged tasks show " + std::to_string(facts.first_id) +
             (facts.is_orphaned ? "; was dogged.workers or dogged.claims changed by hand?"
                                : "; restart its worker if it hangs"),
         {{"tasks", facts.tasks}, {"first_id", facts.first_id}, {"longest_ms", milliseconds_of(facts.longest)}}});
  }
  return or_ok(std::move(findings), "running", "every running task has its worker, and none is far beyond its timeout");
}

Findings judge_snoozes(const std::vector<SnoozeFacts>& snoozes) {
  Findings findings;
  for (const SnoozeFacts& task : snoozes) {
    if (2 * task.most < task.max_snoozes) continue;
    const std::string id = std::to_string(task.most_id);
    findings.push_back({"snoozes",
                        Level::warning,
                        task.name,
                        "task " + id + " (" + task.name + ") has snoozed " + count(task.most, "time", "times") +
                            " of at most " + std::to_string(task.max_snoozes),
                        "it waits for something that may never come; beyond its limit it fails with SNOOZED_TOO_OFTEN",
                        "dogged tasks show " + id + " tells what it waits for; cancel it, or raise .max_snoozes",
                        {{"task_id", task.most_id},
                         {"snoozes", task.most},
                         {"max_snoozes", task.max_snoozes},
                         {"snoozed_tasks", task.tasks}}});
  }
  return or_ok(std::move(findings), "snoozes", "no task has snoozed half as often as it may");
}

namespace {

/// One finding tells of all schedules with the same trouble.
struct ScheduleTrouble {
  Level level;
  bool (*has)(const ScheduleFacts& schedule);
  microseconds ScheduleFacts::*time;  ///< the finding tells the longest; null: none
  const char* seen;                   ///< %TIME%, and %TASK% and %WHY% of the first
  const char* why;
  const char* fix;  ///< %NAME% of the first
};

constexpr ScheduleTrouble schedule_troubles[] = {
    {Level::critical, [](const ScheduleFacts& s) { return s.overdue > long_overdue; }, &ScheduleFacts::overdue,
     "due for up to %TIME%, and not fired", "the tasks are not enqueued",
     "keep a worker running, and read its log for schedules_failed"},
    {Level::warning, [](const ScheduleFacts& s) { return s.ahead > microseconds{0}; }, &ScheduleFacts::ahead,
     "no tick fires for up to %TIME%, although the spec has earlier times",
     "the server's clock was ahead, and was set back: a schedule goes on behind its last decided tick",
     "dogged schedules resume %NAME% --from-now starts the schedule at now; ticks that have fired do not "
     "fire again"},
    {Level::warning, [](const ScheduleFacts& s) { return s.missed > 0; }, nullptr,
     "missed ticks within a day, which catch-up did not cover", "no worker could fire them in time",
     "dogged schedules show %NAME% lists them; dogged schedules backfill %NAME% --from TIME makes up for them"},
    {Level::warning, [](const ScheduleFacts& s) { return s.refused > 0; }, nullptr,
     "ticks within a day whose task could not be enqueued: %WHY%", "such ticks are skipped",
     "remove the cause; dogged schedules backfill %NAME% --from TIME makes up for them"},
    {Level::warning, [](const ScheduleFacts& s) { return s.latest > late_tick; }, &ScheduleFacts::latest,
     "ticks within a day up to %TIME% late", "no worker lived then, or the database was away or slow",
     "dogged schedules show %NAME% tells when; keep two workers running"},
    {Level::warning,
     [](const ScheduleFacts& s) { return s.state != "paused" && s.state != "ended" && !s.is_task_known; }, nullptr,
     "no live worker knows %TASKS%", "what is enqueued waits, and no error tells of it",
     "start a worker that registers %TASKS%; of a name that was misspelt, dogged schedules set %NAME% --task TASK"},
    {Level::warning, [](const ScheduleFacts& s) { return s.state == "orphaned"; }, nullptr,
     "orphaned: a program declared it, and no live worker does any more", "it fires on, wanted or not",
     "start a worker of the program; or dogged schedules delete %NAME%"},
    {Level::warning, [](const ScheduleFacts& s) { return s.paused > long_pause; }, &ScheduleFacts::paused,
     "paused for up to %TIME%", "it was perhaps forgotten: its ticks are not made up for",
     "dogged schedules resume %NAME%, or dogged schedules delete %NAME%"}};

std::string filled(std::string text, const std::string& place, const std::string& value) {
  for (auto at = text.find(place); at != std::string::npos; at = text.find(place, at + value.size())) {
    text.replace(at, place.size(), value);
  }
  return text;
}

Finding finding_of(const ScheduleTrouble& trouble, const std::vector<ScheduleFacts>& troubled) {
  const ScheduleFacts& first = troubled.front();
  std::string names = troubled.size() == 1 ? "schedule " : "schedules ";
  for (std::size_t i = 0; i < std::min(troubled.size(), most_named_schedules); ++i) {
    names += (i == 0 ? "" : ", ") + troubled[i].name;
  }
  if (troubled.size() > most_named_schedules) {
    names += " and " + std::to_string(troubled.size() - most_named_schedules) + " more";
  }
  microseconds longest{0};
  std::set<std::string> tasks;
  for (const ScheduleFacts& schedule : troubled) {
    tasks.insert(schedule.task);
    if (trouble.time != nullptr) longest = std::max(longest, schedule.*trouble.time);
  }
  std::string tasks_text = tasks.size() == 1 ? "the task" : "the tasks";
  std::size_t named = 0;
  for (const std::string& task : tasks) {
    if (named++ == most_named_schedules) {
      tasks_text += " and " + std::to_string(tasks.size() - most_named_schedules) + " more";
      break;
    }
    tasks_text += (named == 1 ? " " : ", ") + task;
  }
  const auto fill = [&](const char* text) {
    return filled(
        filled(filled(filled(text, "%TIME%", readable(longest)), "%TASKS%", tasks_text), "%NAME%", first.name), "%WHY%",
        first.refusal);
  };
  return {"schedules",
          trouble.level,
          "schedule " + first.name,
          names + ": " + fill(trouble.seen),
          trouble.why,
          fill(trouble.fix),
          {{"schedules", static_cast<std::int64_t>(troubled.size())}}};
}

}  // namespace

Findings judge_schedules(const std::vector<ScheduleFacts>& schedules) {
  Findings findings;
  for (const ScheduleTrouble& trouble : schedule_troubles) {
    std::vector<ScheduleFacts> troubled;
    for (const ScheduleFacts& schedule : schedules) {
      if (trouble.has(schedule)) troubled.push_back(schedule);
    }
    if (!troubled.empty()) findings.push_back(finding_of(trouble, troubled));
  }
  return or_ok(std::move(findings), "schedules", "every schedule fires in time, and live workers know its task");
}

Findings judge_durability(const ServerFacts& server) {
  Findings findings;
  if (!server.has_fsync) {
    findings.push_back({"durability", Level::critical, "fsync", "fsync is off",
                        "a crash of the machine may destroy the whole database",
                        "alter system set fsync = on; select pg_reload_conf()"});
  }
  if (!server.has_full_page_writes) {
    findings.push_back({"durability", Level::critical, "full_page_writes", "full_page_writes is off",
                        "a crash of the machine may leave pages half written",
                        "alter system set full_page_writes = on; select pg_reload_conf()"});
  }
  if (server.synchronous_commit == "off" || server.synchronous_commit == "local") {
    const bool is_off = server.synchronous_commit == "off";
    findings.push_back({"durability", Level::warning, "synchronous_commit",
                        "synchronous_commit is " + server.synchronous_commit + " for this role and database",
                        is_off ? "the last commits before a crash are lost: tasks vanish or run twice"
                               : "a failover may lose the last commits: tasks vanish or run twice",
                        "alter role … set synchronous_commit = on, or alter system set"});
  }
  return or_ok(std::move(findings), "durability",
               "what is committed lasts (fsync, full_page_writes, synchronous_commit)");
}

Findings judge_connections(const ServerFacts& server) {
  const std::int64_t percent = server.connections * 100 / std::max<std::int64_t>(server.max_connections, 1);
  Finding finding{
      "connections",
      Level::ok,
      std::nullopt,
      std::to_string(server.connections) + " of " + std::to_string(server.max_connections) + " connections are in use",
      "",
      "",
      {{"connections", server.connections}, {"max_connections", server.max_connections}}};
  if (percent >= 80) {
    finding.level = percent >= 95 ? Level::critical : Level::warning;
    finding.why = "a worker that finds no connection cannot renew its lease; a restart needs five more for each worker";
    finding.fix = "raise max_connections, or put a pooler before the producers";
  }
  return {finding};
}

Findings judge_wraparound(const ServerFacts& server) {
  Finding finding{
      "wraparound",
      Level::ok,
      std::nullopt,
      "the database's oldest transaction id is " + std::to_string(server.oldest_transaction) + " transactions old",
      "",
      "",
      {{"transactions", server.oldest_transaction}}};
  if (server.oldest_transaction >= old_transaction) {
    finding.level = server.oldest_transaction >= too_old_transaction ? Level::critical : Level::warning;
    finding.why = "at 2.1 billion the server refuses every write";
    finding.fix = "end what keeps vacuum away (see the check snapshots), then vacuum (freeze) the database";
  }
  return {finding};
}

Findings judge_clock(microseconds ahead, microseconds uncertainty) {
  return {clock_finding("this host", std::nullopt, ahead, uncertainty)};
}

Findings judge_worker_clocks(const std::vector<WorkerFacts>& workers) {
  std::map<std::string, Finding> by_host;
  for (const WorkerFacts& worker : workers) {
    if (!worker.is_live || !worker.clock_ahead) continue;
    Finding finding = clock_finding("host " + worker.host + " of worker " + worker.name, "host " + worker.host,
                                    *worker.clock_ahead, worker.clock_uncertainty.value_or(microseconds{0}));
    // Containers of several machines may have one host name.
    const auto [found, is_new] = by_host.try_emplace(worker.host, finding);
    if (!is_new && found->second.level == Level::ok) found->second = std::move(finding);
  }
  Findings findings;
  for (auto& [host, finding] : by_host) {
    if (finding.level != Level::ok) findings.push_back(std::move(finding));
  }
  return findings;
}

Findings judge_indexes(const std::vector<InvalidIndex>& invalid) {
  Findings findings;
  for (const InvalidIndex& index : invalid) {
    findings.push_back({"indexes", Level::critical, index.name, index.name + " of " + index.table + " is not valid",
                        "PostgreSQL does not use it: claims and lookups read the whole table",
                        "reindex index concurrently " + index.name});
  }
  return or_ok(std::move(findings), "indexes", "every index is valid");
}

Findings judge_circuits(const std::vector<CircuitFacts>& circuits) {
  Findings findings;
  for (const CircuitFacts& circuit : circuits) {
    if (circuit.state != CircuitState::open) continue;
    std::string names;
    for (const std::string& task : circuit.tasks) names += (names.empty() ? "" : ", ") + task;
    findings.push_back({"circuits",
                        Level::warning,
                        circuit.name,
                        "the circuit " + circuit.name + " has been open for " + readable(circuit.for_so_long) +
                            (circuit.is_forced ? ", by hand" : ""),
                        "its tasks are deferred" + (names.empty() ? "" : ": " + names),
                        circuit.is_forced
                            ? "dogged circuits close " + circuit.name + ", when what its tasks call works again"
                            : "mend what its tasks call (dogged attempts tells their errors); it closes by itself",
                        {{"open_ms", milliseconds_of(circuit.for_so_long)}}});
  }
  return or_ok(std::move(findings), "circuits", "no circuit is open");
}

Findings judge_retries(const std::vector<LoadFacts>& queues) {
  Findings findings;
  for (const LoadFacts& load : queues) {
    if (load.attempts < enough_attempts || load.retry_share < large_retry_share) continue;
    const auto percent = static_cast<std::int64_t>(100 * load.retry_share);
    findings.push_back({"retries",
                        Level::warning,
                        load.queue,
                        std::to_string(percent) + " % of the " + std::to_string(load.attempts) + " attempts of queue " +
                            load.queue + " in the last five minutes failed and are retried",
                        "workers spend their time on what fails, and what their tasks call gets no rest",
                        "dogged attempts --outcome failed --finished-after 5m tells the errors; dogged queues set " +
                            load.queue + " --retry-budget 0.2 bounds the share",
                        {{"attempts", load.attempts}, {"retry_percent", percent}}});
  }
  return or_ok(std::move(findings), "retries", "no queue retries half of its attempts");
}

Findings judge_storms(const std::vector<LoadFacts>& queues) {
  Findings findings;
  for (const LoadFacts& load : queues) {
    if (load.retries_due < enough_attempts || load.retries_due <= load.attempts) continue;
    findings.push_back({"storm",
                        Level::warning,
                        load.queue,
                        std::to_string(load.retries_due) + " retries of queue " + load.queue +
                            " fall due within five minutes, and in the last five minutes " +
                            count(load.attempts, "attempt", "attempts") + " ended",
                        "if workers get no faster, retries and new tasks wait behind each other",
                        "start more workers of the queue, or spread the retries: dogged queues set " + load.queue +
                            " --retry-budget 0.2",
                        {{"retries_due", load.retries_due}, {"attempts", load.attempts}}});
  }
  return or_ok(std::move(findings), "storm",
               "the retries of the next five minutes are no more than workers end in that time");
}

Findings judge_dead_letters(const std::vector<DeadLetterFacts>& letters) {
  Findings findings;
  for (const DeadLetterFacts& task : letters) {
    const bool has_grown = 24 * task.last_hour >= growth_of_dead_letters * task.day_before;
    if (task.last_hour < enough_dead_letters || !has_grown) continue;
    findings.push_back({"dead",
                        Level::warning,
                        task.name,
                        tasks(task.last_hour) + " named " + task.name + " became dead letters in the last hour, and " +
                            std::to_string(task.day_before) + " in the 24 hours before",
                        "what used to work fails for good",
                        "dogged dead top --name " + task.name +
                            " --failed-after 1h tells why; after the mend: "
                            "dogged dead replay --name " +
                            task.name + " --failed-after 1h",
                        {{"last_hour", task.last_hour}, {"day_before", task.day_before}}});
  }
  return or_ok(std::move(findings), "dead", "no task fails for good much more often than the day before");
}

Findings judge_retention(const std::vector<RetentionFacts>& retention) {
  Findings findings;
  for (const RetentionFacts& kept : retention) {
    const std::string failed = count(kept.keep_failed_days, "day", "days");
    const std::string done = count(kept.keep_done_days, "day", "days");
    const std::string whose = kept.queue ? " of the queue " + *kept.queue : "";
    Finding finding{"retention",
                    Level::ok,
                    kept.queue,
                    "dead letters" + whose + " are kept for " + failed + ", what ended otherwise for " + done,
                    "",
                    "",
                    {{"keep_failed_days", kept.keep_failed_days}, {"keep_done_days", kept.keep_done_days}}};
    const std::string days = std::to_string(kept.keep_done_days);
    if (kept.keep_failed_days < kept.keep_done_days) {
      finding.level = Level::warning;
      finding.why = "what failed, and may have to be replayed, is gone while what went well is still there";
      finding.fix = kept.queue ? "dogged queues set " + *kept.queue + " --keep-failed-days " + days
                               : "update dogged.settings set keep_failed_days = " + days;
    }
    if (!kept.queue || finding.level != Level::ok) findings.push_back(finding);
    const auto add_useless = [&](const std::optional<std::int64_t>& own, std::int64_t longer,
                                 const std::string& setting, const std::string& option) {
      if (!own || *own >= longer) return;
      findings.push_back(
          {"retention", Level::warning, kept.queue,
           setting + whose + " is " + std::to_string(*own) + " and has no effect: that of all queues is " +
               std::to_string(longer),
           "who set it expects its tasks to go earlier; a queue's days can only be more than those of all",
           "dogged queues set " + *kept.queue + " " + option + " none, or fewer days for all in dogged.settings"});
    };
    add_useless(kept.own_done_days, kept.keep_done_days, "keep_done_days", "--keep-done-days");
    add_useless(kept.own_failed_days, kept.keep_failed_days, "keep_failed_days", "--keep-failed-days");
  }
  return findings;
}

/// So many sessions at once shall be able to look at every day.
constexpr std::int64_t lookups_at_once = 4;

Findings judge_locks(const LockFacts& locks) {
  const std::int64_t sessions = locks.locks_of_lookup > 0 ? locks.lock_room / locks.locks_of_lookup : lookups_at_once;
  Finding finding{"locks",
                  Level::ok,
                  std::nullopt,
                  "who looks for a task at every day takes " + count(locks.locks_of_lookup, "lock", "locks") + " of " +
                      std::to_string(locks.lock_room),
                  "",
                  "",
                  {{"locks_of_lookup", locks.locks_of_lookup}, {"lock_room", locks.lock_room}}};
  if (sessions < lookups_at_once) {
    const std::int64_t wanted =
        locks.max_locks_per_transaction * (lookups_at_once * locks.locks_of_lookup / locks.lock_room + 1);
    finding.level = Level::warning;
    finding.why = "when " + count(sessions + 1, "session looks", "sessions look") +
                  " at once, statements end with \"out of shared memory\"; and each look takes long to plan";
    finding.fix = "keep tasks for fewer days, or set max_locks_per_transaction to " + std::to_string(wanted) +
                  " in postgresql.conf, which needs a restart";
  }
  return {finding};
}

Findings judge_holders(const std::vector<HolderFacts>& holders) {
  Findings findings;
  for (const HolderFacts& holder : holders) {
    if (holder.held.value_or(microseconds{0}) < long_transaction &&
        holder.waited.value_or(microseconds{0}) < long_wait) {
      continue;
    }
    const std::string pid = std::to_string(holder.pid);
    Finding finding{"locks",
                    Level::warning,
                    holder.name,
                    "session " + pid + " of " + holder.user + " (" + holder.application + ") has locked \"" +
                        holder.name + "\"" + (holder.held ? " since " + readable(*holder.held) : "") +
                        (holder.waited ? ", and another waits since " + readable(*holder.waited) : ""),
                    holder.name == "partitions"
                        ? "until it ends, no partitions are made for the coming days and none are dropped"
                        : "until it ends, no other can do the same",
                    "let it end, or end it: select pg_terminate_backend(" + pid + ")",
                    {{"pid", holder.pid}}};
    if (holder.held) finding.figures.emplace_back("held_ms", milliseconds_of(*holder.held));
    if (holder.waited) finding.figures.emplace_back("waited_ms", milliseconds_of(*holder.waited));
    findings.push_back(std::move(finding));
  }
  return findings;
}

Findings judge_schema(const std::vector<std::string>& pending_migrations, const std::vector<std::string>& pending_files,
                      const std::optional<std::string>& mismatch) {
  Findings findings;
  if (mismatch) {
    findings.push_back({"schema", Level::critical, std::nullopt, *mismatch,
                        "programs of this version refuse to work with this database",
                        "upgrade the programs, or restore the migration that was changed"});
  }
  for (const std::string& name : pending_migrations) {
    findings.push_back({"schema", Level::critical, name, "migration " + name + " is not applied",
                        "programs of this version refuse to work with this database", "dogged migrate"});
  }
  for (const std::string& name : pending_files) {
    findings.push_back({"schema", Level::warning, name, "the SQL interface " + name + " is that of another version",
                        "functions and views answer as that version does", "dogged migrate"});
  }
  return or_ok(std::move(findings), "schema", "all migrations are applied");
}

Finding not_checked(const std::string& check, const std::string& why) {
  return {check,
          Level::warning,
          std::nullopt,
          "could not be checked: " + why,
          "what is wrong there is not seen",
          "run it as the owner of the schema, and grant pg_monitor to that role"};
}

}  // namespace dogged::cli::doctor
