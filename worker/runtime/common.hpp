// The settings and parts that all incarnations of a worker share.
#pragma once

#include <exception>
#include <memory>
#include <string_view>

#include <spdlog/logger.h>

#include "base/first_defect.hpp"
#include "base/tally.hpp"
#include "base/wake_fd.hpp"
#include "run/attempt_settings.hpp"
#include "runtime/part.hpp"
#include "runtime/settings.hpp"
#include "runtime/status.hpp"
#include "runtime/worker_row.hpp"
#include "tasks/definition_fwd.hpp"

namespace dogged::runtime {

class DeclaredSchedules;
class Session;

struct Common {
  /// Throws InvalidInput (require_sound). The worker stops when `stop_signal` is readable. `status`: null for a board
  /// that nobody else reads.
  Common(WorkerSettings of_worker, Definitions of_tasks, const std::shared_ptr<spdlog::logger>& logger,
         WakeFd stop_signal, std::shared_ptr<StatusBoard> status);

  [[nodiscard]] Patience patience(Part part) const;
  /// A new connection for this part, which is made at its first use.
  [[nodiscard]] std::shared_ptr<Session> session(Part part) const;
  [[nodiscard]] WorkerRow row() const { return {settings.name, settings.queues, settings.lease, settings.clock}; }
  [[nodiscard]] const std::shared_ptr<Tally>& tally() const noexcept { return board->tally(); }
  /// Too many threads whose handlers ignore their stop tokens.
  [[nodiscard]] bool carries_too_many() const noexcept {
    return tally()->abandoned_threads > settings.max_abandoned_threads;
  }

  // Mistakes of dogged, which end the worker. Thread-safe.

  void note_defect(std::string_view part, std::exception_ptr error);
  /// Notes the exception in flight if that is a mistake of dogged.
  void note_if_defect(std::string_view part) noexcept;
  /// Throws Defect if the exception in flight is a mistake of dogged.
  void throw_if_defect(std::string_view part);

  const WorkerSettings settings;  // its queues are those that the worker serves
  const std::shared_ptr<const Definitions> definitions;
  const std::shared_ptr<spdlog::logger> log;
  const std::shared_ptr<DeclaredSchedules> schedules;  // of one thread at a time: upkeep uses them while services run
  const WakeFd stop;
  const WakeFd attention;  // woken when something happened to the lease, to the threads or to a service
  const std::shared_ptr<StatusBoard> board;
  AttemptSettings attempts;  // without those of an incarnation; the start of the worker reads the limits
  FirstDefect defect{attention};
};

}  // namespace dogged::runtime
