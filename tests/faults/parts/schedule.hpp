// From a seed to the faults of a run and the tasks that are enqueued meanwhile. Pure: the same settings give the same
// schedule, so a seed replays a failure as far as the machine's own timing lets it.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <dogged/client.hpp>

#include "tasks.hpp"

namespace dogged::faults {

enum class Fault {
  kill_worker,            ///< SIGKILL
  pause_worker,           ///< SIGSTOP, and SIGCONT when the event is over: often after its lease has lapsed
  stop_worker,            ///< SIGTERM
  stop_worker_twice,      ///< SIGTERM, and SIGTERM again
  rolling_restart,        ///< SIGTERM for one worker after the other, each when the one before runs again
  terminate_backends,     ///< pg_terminate_backend of all connections of a worker
  restart_fast,           ///< the server: pg_ctl -m fast
  restart_immediate,      ///< pg_ctl -m immediate
  kill_postmaster,        ///< SIGKILL
  delay,                  ///< the network: every byte of a worker comes late
  cut,                    ///< all connections of a worker are reset
  half_open,              ///< the connections of a worker are forgotten by the network: no byte more, and no close
  partition,              ///< the same, and new ones come to nothing as well, until the event is over
  cut_completion_before,  ///< the next completion of a worker is cut off before the server saw it
  cut_completion_after,   ///< … after the server did it, before its answer
  cut_commit_before,      ///< the same for the next COMMIT
  cut_commit_after,
};

/// In the order of the enum.
[[nodiscard]] const std::vector<Fault>& all_faults();
[[nodiscard]] std::string_view to_text(Fault fault) noexcept;
/// Throws InvalidInput, which lists the names that there are.
[[nodiscard]] Fault fault_from_text(std::string_view text);
/// Whether the fault is the server's, and meets all workers.
[[nodiscard]] bool is_of_server(Fault fault) noexcept;

struct Event {
  milliseconds at{0};  ///< after the start of the run
  Fault fault = Fault::kill_worker;
  int worker = 0;         ///< the worker that the fault meets, from 0; 0 if it meets all
  milliseconds lasts{0};  ///< how long the state that it makes holds; the server is away so long

  friend bool operator==(const Event&, const Event&) = default;
};
/// `1.250 s  pause_worker worker 2 for 3.1 s`
[[nodiscard]] std::string to_text(const Event& event);

struct ScheduleSettings {
  std::uint64_t seed = 0;
  milliseconds duration{30'000};
  int workers = 4;
  milliseconds lease{1500};
  std::vector<Fault> faults = all_faults();
};

/// In the order of time. No two events hit one worker at once, nor do two hit the server. Events of different workers
/// and of the server may overlap.
[[nodiscard]] std::vector<Event> make_schedule(const ScheduleSettings& settings);

/// The task that is enqueued as the `key`th of a run.
[[nodiscard]] NewTask planned_task(std::uint64_t seed, std::int64_t key);

/// How long after the enqueue of this task the event comes that it waits for; nothing: it waits in vain, or for none.
[[nodiscard]] std::optional<milliseconds> event_after(const NewTask& task);

}  // namespace dogged::faults
