// See shutting_down.hpp.
#include "runtime/shutting_down.hpp"

#include <string>
#include <utility>
#include <vector>

#include "base/session.hpp"
#include "client/log_event.hpp"
#include "db/connection.hpp"
#include "runtime/common.hpp"
#include "runtime/services.hpp"
#include "sql/claim.hpp"
#include "sql/registration.hpp"
#include "tasks/attempt_logger.hpp"
#include "text/counted.hpp"

namespace dogged::runtime {
namespace {

class ShuttingDown {
 public:
  ShuttingDown(Services& services, Common& common, std::int64_t worker_id)
      : services_(services), executors_(*services.executors()), common_(common), worker_id_(worker_id) {}

  /// False if the step has failed, or has taken too long.
  [[nodiscard]] bool carry_out(const Shutdown::Action& action) {
    switch (action.step) {
      case Shutdown::Step::stop_claiming:
        services_.stop_claiming();
        return true;
      case Shutdown::Step::give_back:
        return give_back(action.until);
      case Shutdown::Step::let_finish:
        return let_finish(action.until);
      case Shutdown::Step::stop_handlers:
        executors_.stop_all(StopReason::shutdown);
        return executors_.wait_idle(action.until);
      case Shutdown::Step::give_up_handlers:
        given_up_ = executors_.give_up_all();
        return true;
      case Shutdown::Step::write_reports:
        return services_.write_reports(action.until);
      case Shutdown::Step::sign_off:
        return sign_off(common_, worker_id_);
      case Shutdown::Step::record_interrupted:
        record_interrupted();
        return true;
      case Shutdown::Step::finish_reports:
        return finish_reports(action.until);
      case Shutdown::Step::wake_others:
        return wake_others();
      case Shutdown::Step::ended:
        break;
    }
    return true;
  }

  [[nodiscard]] const ShutdownResult& result() const noexcept { return result_; }

 private:
  [[nodiscard]] bool give_back(TimePoint until) {
    const auto [tasks, was_written] = services_.give_back(until);
    (was_written ? result_.given_back : result_.left_behind) += tasks;
    if (!was_written)
      common_.log->log(event("give_back_failed"), spdlog::level::err, "{} could not be given back",
                       counted(tasks, "claimed task"));
    return was_written;
  }

  [[nodiscard]] bool let_finish(TimePoint until) {
    const bool has_time = SteadyClock::now() < until;
    const bool have_finished = executors_.wait_idle(until);
    if (has_time && !have_finished)
      common_.log->log(event("grace_over"), spdlog::level::warn, "the grace period is over: stop tokens are set");
    return have_finished;
  }

  void record_interrupted() {
    for (Report& report : std::exchange(given_up_, {})) {
      attempt_logger(*common_.log, report)
          ->log(event("attempt_interrupted"), spdlog::level::warn, "it still runs, and is recorded as {}",
                lifecycle::to_text(report.transition.outcome));
      services_.report(std::move(report));
      ++result_.interrupted;
    }
  }

  [[nodiscard]] bool finish_reports(TimePoint until) {
    const std::size_t not_written = services_.finish_reports(until);
    if (not_written > 0)
      common_.log->log(event("reports_lost"), spdlog::level::err, "{} could not be written",
                       counted(not_written, "report"));
    result_.left_behind += not_written;
    return not_written == 0;
  }

  /// Wakes sleeping workers for interrupted tasks and for retries.
  [[nodiscard]] bool wake_others() noexcept {
    try {
      std::vector<std::string> queues;
      for (const auto& [queue, concurrency] : common_.settings.queues) queues.push_back(queue);
      common_.session(Part::shutdown)
          ->connection()
          .run(sql::WakeOthers{.worker_id = worker_id_, .queues = std::move(queues)});
      return true;
    } catch (const std::exception& error) {
      common_.log->log(event("wake_failed"), spdlog::level::warn, "could not wake other workers: {}", error.what());
      common_.note_if_defect(to_text(Part::shutdown));
      return false;
    }
  }

  Services& services_;
  Executors& executors_;
  Common& common_;
  const std::int64_t worker_id_;
  std::vector<Report> given_up_;  // of the handlers that were given up
  ShutdownResult result_;
};

}  // namespace

ShutdownResult shut_down(Services& services, Common& common, std::int64_t worker_id, Shutdown shutdown) {
  ShuttingDown shutting_down{services, common, worker_id};
  for (auto action = shutdown.next(SteadyClock::now()); action.step != Shutdown::Step::ended;
       action = shutdown.next(SteadyClock::now())) {
    shutdown.on_done(shutting_down.carry_out(action));
  }
  return shutting_down.result();
}

bool sign_off(Common& common, std::int64_t worker_id) noexcept {
  try {
    common.session(Part::shutdown)->connection().run(sql::StopWorker{.worker_id = worker_id});
    return true;
  } catch (const std::exception& error) {
    common.log->log(event("sign_off_failed"), spdlog::level::warn, "could not sign off: {}", error.what());
    common.note_if_defect(to_text(Part::shutdown));
    return false;
  }
}

}  // namespace dogged::runtime
