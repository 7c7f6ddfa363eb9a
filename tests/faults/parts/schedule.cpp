// See schedule.hpp.
#include "schedule.hpp"

#include <algorithm>
#include <array>

#include "random.hpp"
#include "text/duration.hpp"

namespace dogged::faults {
namespace {

constexpr std::array<std::string_view, 17> fault_names{"kill_worker",
                                                       "pause_worker",
                                                       "stop_worker",
                                                       "stop_worker_twice",
                                                       "rolling_restart",
                                                       "terminate_backends",
                                                       "restart_fast",
                                                       "restart_immediate",
                                                       "kill_postmaster",
                                                       "delay",
                                                       "cut",
                                                       "half_open",
                                                       "partition",
                                                       "cut_completion_before",
                                                       "cut_completion_after",
                                                       "cut_commit_before",
                                                       "cut_commit_after"};

/// After a fault of the server all processes have to come back before the next fault tests anything.
constexpr milliseconds between_faults_of_server{4000};

milliseconds length_of(Fault fault, milliseconds lease, Random& random) {
  const int lease_ms = static_cast<int>(lease.count());
  switch (fault) {
    case Fault::pause_worker:
    case Fault::partition:
      return milliseconds{random.between(lease_ms / 3, lease_ms * 3)};
    case Fault::delay:
      return milliseconds{random.between(500, lease_ms * 2)};
    case Fault::stop_worker_twice:
      return milliseconds{random.between(0, 300)};
    case Fault::restart_fast:
    case Fault::restart_immediate:
    case Fault::kill_postmaster:
      return milliseconds{random.between(0, lease_ms * 3 / 2)};
    default:
      return milliseconds{0};
  }
}

std::string seconds(milliseconds time) {
  std::string text = std::to_string(time.count() % 1000);
  text.insert(0, 3 - text.size(), '0');
  return std::to_string(time.count() / 1000) + "." + text + " s";
}

/// When the process that a fault meets is free again.
class Timetable {
 public:
  explicit Timetable(int workers) : worker_free_(static_cast<std::size_t>(workers)) {}

  [[nodiscard]] bool is_free(const Event& event) const { return free_at(event) <= event.at; }
  void occupy(const Event& event) {
    milliseconds& free =
        is_of_server(event.fault) ? server_free_ : worker_free_[static_cast<std::size_t>(event.worker)];
    free = event.at + event.lasts + (is_of_server(event.fault) ? between_faults_of_server : milliseconds{100});
  }

 private:
  [[nodiscard]] milliseconds free_at(const Event& event) const {
    return is_of_server(event.fault) ? server_free_ : worker_free_[static_cast<std::size_t>(event.worker)];
  }

  milliseconds server_free_{0};
  std::vector<milliseconds> worker_free_;
};

/// Of so few keys that most enqueues of a busy second meet a holder.
void make_unique(NewTask& task, Plan& plan, Random& random) {
  const bool while_pending = random.percent(50);
  task.name = while_pending ? unique_pending.name() : unique.name();
  if (while_pending) task.options.unique = unique_pending.unique();
  task.options.unique_key = "key-" + std::to_string(random.between(1, 4));
  plan.runs_ms = random.between(20, 500);
}

void plan_steps(Plan& plan, Random& random) {
  plan.runs_ms = random.between(0, 150);
  if (random.percent(2)) plan.deaths = 1;
  if (random.percent(50)) plan.sleep_ms = random.between(50, 1500);
  if (random.percent(50)) {
    plan.event = "event-" + std::to_string(plan.key);
    plan.event_ms = random.between(200, 2500);
  }
}

}  // namespace

const std::vector<Fault>& all_faults() {
  static const std::vector<Fault> all = [] {
    std::vector<Fault> faults;
    for (std::size_t i = 0; i < fault_names.size(); ++i) faults.push_back(static_cast<Fault>(i));
    return faults;
  }();
  return all;
}

std::string_view to_text(Fault fault) noexcept { return fault_names[static_cast<std::size_t>(fault)]; }

Fault fault_from_text(std::string_view text) {
  const auto found = std::find(fault_names.begin(), fault_names.end(), text);
  if (found != fault_names.end()) return static_cast<Fault>(found - fault_names.begin());
  std::string names;
  for (std::string_view name : fault_names) names += (names.empty() ? "" : ", ") + std::string{name};
  throw InvalidInput("there is no fault \"" + std::string{text} + "\"", "there are: " + names);
}

bool is_of_server(Fault fault) noexcept {
  return fault == Fault::restart_fast || fault == Fault::restart_immediate || fault == Fault::kill_postmaster ||
         fault == Fault::rolling_restart;
}

std::string to_text(const Event& event) {
  std::string text = seconds(event.at) + "  " + std::string{to_text(event.fault)};
  if (!is_of_server(event.fault)) text += " worker " + std::to_string(event.worker);
  if (event.lasts.count() > 0) text += " for " + duration_to_text(event.lasts);
  return text;
}

std::vector<Event> make_schedule(const ScheduleSettings& settings) {
  Random random{settings.seed};
  Timetable timetable{settings.workers};
  std::vector<Event> events;
  for (milliseconds at{500}; at < settings.duration; at += milliseconds{random.between(100, 800)}) {
    Event event{.at = at, .fault = random.one_of(settings.faults)};
    const int worker = random.between(0, settings.workers - 1);
    if (!is_of_server(event.fault)) event.worker = worker;
    event.lasts = length_of(event.fault, settings.lease, random);
    if (!timetable.is_free(event)) continue;
    timetable.occupy(event);
    events.push_back(event);
  }
  return events;
}

NewTask planned_task(std::uint64_t seed, std::int64_t key) {
  Random random{seed ^ (static_cast<std::uint64_t>(key) * 0x9E3779B97F4A7C15u)};
  Plan plan;
  plan.key = key;
  NewTask task;
  task.name = quick.name();
  const int fate = random.between(0, 999);
  if (fate < 250) {
    plan.runs_ms = random.between(0, 10);
  } else if (fate < 350) {
    make_unique(task, plan, random);
  } else if (fate < 450) {
    task.name = stepwise.name();
    plan_steps(plan, random);
  } else if (fate < 700) {
    task.name = slow.name();
    plan.runs_ms = random.between(50, 600);
  } else if (fate < 900) {
    task.name = flaky.name();
    plan.runs_ms = random.between(0, 20);
    plan.failures = random.between(0, 4);
    plan.code = random.percent(80) ? "FLAKY" : "UNLISTED";
  } else if (fate < 930) {
    task.name = deaf.name();
    plan.failures = random.between(0, 2);
    plan.runs_ms = random.between(0, 1500);
  } else if (fate < 996) {
    task.name = once.name();
    plan.runs_ms = random.between(0, 200);
  } else {
    task.name = killer.name();
    plan.deaths = random.between(1, 4);
  }
  task.args_json = nlohmann::json(plan).dump();
  task.options.queue = queue_name;
  return task;
}

std::optional<milliseconds> event_after(const NewTask& task) {
  const auto plan = nlohmann::json::parse(task.args_json).get<Plan>();
  if (plan.event.empty() || plan.key % 5 == 4) return std::nullopt;
  return milliseconds{plan.key % 5 * 250};
}

}  // namespace dogged::faults
