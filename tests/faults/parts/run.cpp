// See run.hpp. One thread makes all faults, so that a schedule is followed in its order.
#include "run.hpp"

#include <algorithm>
#include <csignal>
#include <iostream>
#include <thread>
#include <utility>

#include "evidence.hpp"
#include "text/duration.hpp"

namespace dogged::faults {
namespace {

constexpr milliseconds look_interval{5};
constexpr milliseconds delay_each_way{150};
/// Tasks are hanging, waiting for retries and killing workers when the faults are over; on a loaded machine.
constexpr milliseconds longest_drain{120'000};
constexpr milliseconds between_looks{1000};

TimeUs now_us() {
  // The server is on this machine: its clock is ours.
  return std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::system_clock::now().time_since_epoch())
      .count();
}

constexpr int killed = 128 + SIGKILL;
constexpr int terminated = 128 + SIGTERM;
constexpr int cannot_connect = 3;

int signal_of(Fault fault) {
  if (fault == Fault::restart_fast) return SIGINT;
  return fault == Fault::restart_immediate ? SIGQUIT : SIGKILL;
}

}  // namespace

Run::Run(RunSettings settings)
    : settings_(std::move(settings)),
      server_(settings_.directory),
      database_(server_.url()),
      log_(settings_.directory / "events.log"),
      started_(Clock::now()),
      started_us_(now_us()),
      noted_at_(started_) {
  database_.migrate();
  create_schedules();
  for (int number = 0; number < settings_.schedule.workers; ++number) {
    slots_.push_back({std::make_unique<WorkerSlot>(
        server_, WorkerSettings{settings_.directory, "dogged", number, {{"--grace", "200ms"}}})});
  }
  const std::vector<Event> events = make_schedule(settings_.schedule);
  to_come_.assign(events.begin(), events.end());
}

/// Creates schedules whose tasks are skipped, wait or overlap while an earlier task runs. The schedules fire until the
/// producers end.
void Run::create_schedules() {
  constexpr std::pair<const char*, int> schedules[] = {{"skip", 700}, {"buffer_one", 1500}, {"allow_all", 1200}};
  for (const auto& [overlap, runs_ms] : schedules) {
    database_.run(
        "select dogged.schedule($1, $2, 'every 1s', args => jsonb_build_object('runs_ms', $3::int), queue => $4, "
        "overlap => $1, allow_frequent => true)",
        db::Params{}.add(overlap).add(slow.name()).add(runs_ms).add(queue_name));
  }
}

RunResult Run::go(const volatile std::sig_atomic_t& interrupted) {
  for (Slot& slot : slots_) slot.worker->start();
  Producer producer{{server_.url(), settings_.schedule.seed, settings_.tasks_per_second}};
  while (elapsed() < settings_.schedule.duration && interrupted == 0) {
    begin_due_events();
    end_due_events();
    go_on_rolling();
    for (Slot& slot : slots_) look_after(slot);
    look_at_database();
    std::this_thread::sleep_for(look_interval);
  }
  drain(producer, interrupted);
  if (interrupted != 0) return {};
  stop_workers();
  return judge();
}

/// Nothing new happens, and everything under way comes to its end.
void Run::drain(Producer& producer, const volatile std::sig_atomic_t& interrupted) {
  log("no more faults");
  for (const Active& active : std::exchange(active_, {})) end(active.event);
  rolling_.clear();
  for (Slot& slot : slots_) slot.worker->proxy().heal();
  producer.stop();  // now that the server is back
  database_.run("select dogged.pause_schedule(name) from dogged.schedules");
  evidence_.enqueued = producer.enqueued();
  evidence_.met = producer.met();
  evidence_.in_doubt = producer.in_doubt();
  const auto until = Clock::now() + longest_drain;
  while (interrupted == 0 && Clock::now() < until &&
         database_.value("select exists (select from dogged.tasks_live) as value") == "t") {
    for (Slot& slot : slots_) look_after(slot);
    look_at_database();
    std::this_thread::sleep_for(look_interval);
  }
}

void Run::stop_workers() {
  for (Slot& slot : slots_) ask_to_stop(slot);
  for (Slot& slot : slots_) {
    if (slot.worker->process().wait(30s)) {
      look_after(slot);
    } else {
      broken_.push_back(slot.worker->application_name() + " did not end within 30 s after SIGTERM");
    }
  }
}

RunResult Run::judge() {
  read_evidence(database_, handler_log_of(settings_.directory), evidence_);
  std::vector<std::string> broken = broken_promises(evidence_);
  broken.insert(broken.end(), broken_.begin(), broken_.end());
  const Lateness late = lateness(evidence_);
  if (late.at_most > settings_.late_limit.count() * 1000) {
    broken.push_back(describe(late) + "; the limit is " + duration_to_text(settings_.late_limit));
  }
  return {std::move(broken), summary(late)};
}

std::string Run::summary(const Lateness& late) {
  const std::string outcomes = database_.value(
      "select string_agg(text, ', ' order by text) as value "
      "from (select count(*) || ' ' || outcome as text from dogged.task_attempts group by outcome) counts");
  const std::string ticks = database_.value(
      "select string_agg(text, ', ' order by text) as value "
      "from (select count(*) || ' ' || outcome as text from dogged.schedule_ticks group by outcome) counts");
  return std::to_string(evidence_.tasks.size()) + " tasks (" + std::to_string(evidence_.in_doubt.size()) +
         " enqueued without an answer; " + std::to_string(evidence_.met.size()) + " met a holder), ticks: " + ticks +
         "; steps: " + std::to_string(evidence_.steps.size()) + "; attempts: " + outcomes + "; " +
         std::to_string(evidence_.workers.size()) + " worker runs, " +
         database_.value("select coalesce(sum(fenced), 0) as value from dogged.workers") + " reports fenced; " +
         (late.task == 0 ? "no task was lost" : describe(late)) + "; " + duration_to_text(elapsed());
}

std::string Run::describe(const Lateness& late) const {
  const auto ms = [](TimeUs time) { return std::to_string(time / 1000) + " ms"; };
  return "at the latest, a lost task ran again " + ms(late.at_most) + " after the lease had lapsed (task " +
         std::to_string(late.task) + " attempt " + std::to_string(late.attempt) + ", whose worker's lease lapsed at " +
         ms(late.lapsed_at - started_us_) + " and which was rescued at " + ms(late.rescued_at - started_us_) + ")";
}

// ---- faults --------------------------------------------------------------------------------------------------------

void Run::begin_due_events() {
  while (!to_come_.empty() && to_come_.front().at <= elapsed()) {
    const Event event = to_come_.front();
    to_come_.pop_front();
    log(to_text(event));
    begin(event);
    active_.push_back({event, elapsed() + event.lasts});
  }
}

void Run::end_due_events() {
  for (auto active = active_.begin(); active != active_.end();) {
    if (active->until > elapsed()) {
      ++active;
      continue;
    }
    const Event event = active->event;
    active = active_.erase(active);
    if (event.lasts.count() > 0) log("over:  " + to_text(event));
    end(event);
  }
}

void Run::begin(const Event& event) {
  Slot& slot = slots_[static_cast<std::size_t>(event.worker)];
  Proxy& proxy = slot.worker->proxy();
  switch (event.fault) {
    case Fault::kill_worker:
      return slot.worker->process().signal(SIGKILL);
    case Fault::pause_worker:
      return slot.worker->process().signal(SIGSTOP);
    case Fault::stop_worker:
    case Fault::stop_worker_twice:
      return ask_to_stop(slot);
    case Fault::rolling_restart:
      for (std::size_t i = 0; i < slots_.size(); ++i) rolling_.push_back(i);
      return;
    case Fault::terminate_backends:
      if (away_since_) return;  // the server has ended them already
      database_.run("select pg_terminate_backend(pid) from pg_stat_activity where application_name = $1",
                    db::Params{}.add(slot.worker->application_name()));
      return;
    case Fault::restart_fast:
    case Fault::restart_immediate:
    case Fault::kill_postmaster:
      return stop_server(signal_of(event.fault));
    case Fault::delay:
      return proxy.delay(delay_each_way);
    case Fault::cut:
      return proxy.cut();
    case Fault::half_open:
      return proxy.forget_connections();
    case Fault::partition:
      return proxy.partition(true);
    case Fault::cut_completion_before:
      return proxy.cut_at(Statement::completion, Side::before_server);
    case Fault::cut_completion_after:
      return proxy.cut_at(Statement::completion, Side::after_server);
    case Fault::cut_commit_before:
      return proxy.cut_at(Statement::commit, Side::before_server);
    case Fault::cut_commit_after:
      return proxy.cut_at(Statement::commit, Side::after_server);
  }
}

void Run::end(const Event& event) {
  Slot& slot = slots_[static_cast<std::size_t>(event.worker)];
  switch (event.fault) {
    case Fault::pause_worker:
      return slot.worker->process().signal(SIGCONT);
    case Fault::stop_worker_twice:
      if (slot.asked_to_stop) slot.worker->process().signal(SIGTERM);  // it may have ended, and be another by now
      return;
    case Fault::restart_fast:
    case Fault::restart_immediate:
    case Fault::kill_postmaster:
      return start_server();
    case Fault::delay:
      return slot.worker->proxy().delay(milliseconds{0});
    case Fault::partition:
      return slot.worker->proxy().partition(false);
    default:
      return;  // over as soon as it began
  }
}

void Run::ask_to_stop(Slot& slot) {
  slot.asked_to_stop = true;
  slot.worker->process().signal(SIGTERM);
}

/// The next slot's turn has come when there is another process in the one before.
void Run::go_on_rolling() {
  if (rolling_.empty()) return;
  Slot& slot = slots_[rolling_.front()];
  const pid_t process = slot.worker->process().pid();
  if (!rolling_process_) {
    rolling_process_ = process;
    ask_to_stop(slot);
  } else if (*rolling_process_ != process) {
    rolling_process_.reset();
    rolling_.pop_front();
  }
}

void Run::stop_server(int signal) {
  away_since_ = now_us();
  server_.stop(signal);
}

void Run::start_server() {
  server_.start();
  evidence_.outages.push_back({*away_since_, now_us()});
  away_since_.reset();
}

// ---- workers -------------------------------------------------------------------------------------------------------

/// As a supervisor does: a worker that ended is started again.
void Run::look_after(Slot& slot) {
  if (const auto status = slot.worker->process().exit_status(); status && !slot.start_at) {
    judge_exit(slot, *status);
    slot.start_at = Clock::now() + (*status == cannot_connect ? milliseconds{300} : milliseconds{50});
  }
  if (!slot.start_at || Clock::now() < *slot.start_at) return;
  slot.start_at.reset();
  slot.asked_to_stop = false;
  slot.worker->start();
}

void Run::judge_exit(Slot& slot, int status) {
  const pid_t pid = slot.worker->process().pid();
  log(slot.worker->application_name() + " (process " + std::to_string(pid) + ") ended with " + std::to_string(status));
  const bool was_killed = status == killed;  // by us, or by a task that does that
  const bool stopped_as_asked = slot.asked_to_stop && (status == 0 || status == terminated);
  const bool could_not_begin = status == cannot_connect && !slot.worker->was_ready();
  if (was_killed || stopped_as_asked || could_not_begin) return;
  broken_.push_back(slot.worker->application_name() + " (process " + std::to_string(pid) + ") ended with " +
                    std::to_string(status) + ", unasked; see " + slot.worker->log().string());
}

// ---- evidence -------------------------------------------------------------------------------------------------------

void Run::look_at_database() {
  if (away_since_ || Clock::now() < noted_at_ + between_looks) return;
  noted_at_ = Clock::now();
  note_attempts_seen(database_, evidence_);
  for (const std::string& promise : broken_promises(moment_after_retention(database_))) {
    broken_.push_back("at " + duration_to_text(elapsed()) + ": " + promise);
  }
}

milliseconds Run::elapsed() const { return std::chrono::duration_cast<milliseconds>(Clock::now() - started_); }

void Run::log(const std::string& line) {
  const std::string text = "[" + duration_to_text(elapsed()) + "] " + line;
  log_ << text << std::endl;  // flushed: it is read if this program is killed
  if (settings_.verbose) std::cout << text << std::endl;
}

}  // namespace dogged::faults
