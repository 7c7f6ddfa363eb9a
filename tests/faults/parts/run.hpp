// One run: a server, workers, a producer, the faults of a schedule, and the checker at the end.
#pragma once

#include <chrono>
#include <csignal>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "checker.hpp"
#include "database.hpp"
#include "producer.hpp"
#include "schedule.hpp"
#include "server.hpp"
#include "worker_slot.hpp"

namespace dogged::faults {

struct RunSettings {
  ScheduleSettings schedule;
  int tasks_per_second = 40;
  /// How late a lost task may run again (see lateness()). Generous by default, for machines that do other things as
  /// well.
  milliseconds late_limit{10'000};
  bool verbose = false;
  std::filesystem::path directory;  ///< for everything that the run writes; empty, and readable by all
};

struct RunResult {
  std::vector<std::string> broken;  ///< promises, in words
  std::string summary;
};

class Run {
 public:
  explicit Run(RunSettings settings);

  /// To the end, or until `interrupted`. Throws Error where the run itself cannot go on.
  RunResult go(const volatile std::sig_atomic_t& interrupted);

 private:
  using Clock = std::chrono::steady_clock;
  struct Active {
    Event event;
    milliseconds until;
  };
  struct Slot {
    std::unique_ptr<WorkerSlot> worker;
    bool asked_to_stop = false;                      ///< its latest process
    std::optional<Clock::time_point> start_at = {};  ///< it has ended, and the next process starts then
  };

  void create_schedules();
  void drain(Producer& producer, const volatile std::sig_atomic_t& interrupted);
  void stop_workers();
  RunResult judge();

  void begin_due_events();
  void end_due_events();
  void begin(const Event& event);
  void end(const Event& event);
  void ask_to_stop(Slot& slot);
  void go_on_rolling();
  void stop_server(int signal);
  void start_server();

  void look_after(Slot& slot);
  void judge_exit(Slot& slot, int status);
  void look_at_database();

  [[nodiscard]] milliseconds elapsed() const;
  void log(const std::string& line);
  [[nodiscard]] std::string summary(const Lateness& late);
  [[nodiscard]] std::string describe(const Lateness& late) const;

  const RunSettings settings_;
  Server server_;
  Database database_;
  std::vector<Slot> slots_;
  std::ofstream log_;
  const Clock::time_point started_;
  const TimeUs started_us_;

  std::deque<Event> to_come_;
  std::vector<Active> active_;
  std::deque<std::size_t> rolling_;       ///< slots that still have to restart, the first restarts now
  std::optional<pid_t> rolling_process_;  ///< that was asked to stop
  std::optional<TimeUs> away_since_;

  Clock::time_point noted_at_;
  Evidence evidence_;
  std::vector<std::string> broken_;
};

}  // namespace dogged::faults
