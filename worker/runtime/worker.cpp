// See worker.hpp.
#include "runtime/worker.hpp"

#include <array>
#include <string>
#include <utility>

#include <poll.h>

#include "client/log_event.hpp"
#include "runtime/common.hpp"
#include "runtime/registrar.hpp"
#include "runtime/services.hpp"
#include "tasks/definition.hpp"
#include "text/counted.hpp"
#include "text/duration.hpp"

namespace dogged::runtime {
namespace {

/// The board shows the executors of an incarnation while this lives, which is shorter than the services do.
class Shown {
 public:
  Shown(StatusBoard& board, std::shared_ptr<const SharedLease> lease, std::shared_ptr<const Executors> executors)
      : board_(board) {
    board_.serves(std::move(lease), std::move(executors));
  }
  ~Shown() { board_.rests(); }
  Shown(const Shown&) = delete;
  Shown& operator=(const Shown&) = delete;

 private:
  StatusBoard& board_;
};

std::string text_of(const std::map<std::string, int>& queues) {
  std::string text;
  for (const auto& [queue, concurrency] : queues) {
    text += (text.empty() ? "" : ",") + queue + ":" + std::to_string(concurrency);
  }
  return text;
}

}  // namespace

Worker::Worker(WorkerSettings settings, Definitions definitions, const std::shared_ptr<spdlog::logger>& log,
               WakeFd stop, std::shared_ptr<StatusBoard> board)
    : common_(std::make_shared<Common>(std::move(settings), std::move(definitions), log, std::move(stop),
                                       std::move(board))),
      is_again_(common_->settings.previous_lease.has_value()) {
  if (const auto registered = register_first(*common_)) hold(*registered);
}

Worker::~Worker() = default;

void Worker::hold(const Registration& registered) {
  lease_ = std::make_shared<SharedLease>(registered.worker_id, common_->settings.lease, registered.asked_at);
  clock_offset_ = registered.clock;
}

std::optional<std::int64_t> Worker::id() const { return lease_ ? std::optional{lease_->id()} : std::nullopt; }

std::size_t Worker::abandoned_threads() const noexcept {
  return static_cast<std::size_t>(common_->tally()->abandoned_threads.load());
}

ShutdownResult Worker::run(const std::function<void()>& on_ready) {
  ShutdownResult result;
  if (!lease_) return result;  // told to stop before it could register
  if (common_->stop.is_readable()) {
    sign_off(*common_, lease_->id());
    common_->defect.rethrow();
    return result;
  }
  Incarnation::End end = serve(result, on_ready);
  while (end == Incarnation::End::lease_lost && register_next()) end = serve(result, [] {});
  result.has_too_many = end == Incarnation::End::too_many_abandoned;
  result.abandoned_threads = abandoned_threads();
  return result;
}

/// One incarnation: runs the services until they are to end, and shuts them down.
Incarnation::End Worker::serve(ShutdownResult& result, const std::function<void()>& on_ready) {
  Incarnation incarnation;
  try {
    Services services{common_, lease_, clock_offset_, is_again_};
    const Shown shown{*common_->board, lease_, services.executors()};
    common_->log->log(event("worker_ready"), spdlog::level::info, "worker {} ({}) ready: {}, queues {}", lease_->id(),
                      common_->settings.name, counted(common_->definitions->size(), "task"),
                      text_of(common_->settings.queues));
    on_ready();
    wait_for_end(incarnation);
    common_->board->note(WorkerStatus::State::stopping);
    result = shut_down(services, *common_, lease_->id(), shutdown_of(incarnation));
  } catch (...) {  // the services could not be started
    common_->note_if_defect("main thread");
    sign_off(*common_, lease_->id());
    common_->defect.rethrow();
    throw;
  }
  common_->log->log(event("worker_stopped"), spdlog::level::info,
                    "worker {} stopped: {} given back, {} interrupted, {} left to be rescued", lease_->id(),
                    result.given_back, result.interrupted, result.left_behind);
  common_->defect.rethrow();
  return incarnation.end();
}

/// Looks whenever a stop is requested, or something has happened to the lease, to the threads or to a service.
void Worker::wait_for_end(Incarnation& incarnation) {
  while (incarnation.state() != Incarnation::State::draining) {
    std::array<pollfd, 2> fds{{{common_->stop.fd(), POLLIN, 0}, {common_->attention.fd(), POLLIN, 0}}};
    if (::poll(fds.data(), fds.size(), -1) <= 0) continue;  // a signal
    common_->attention.reset();
    incarnation.on_seen({.has_defect = common_->defect.is_noted(),
                         .stop_requested = common_->stop.is_readable(),
                         .carries_too_many = common_->carries_too_many(),
                         .lease = lease_->get().state()});
  }
  if (incarnation.end() == Incarnation::End::too_many_abandoned) {
    common_->log->log(event("too_many_abandoned_threads"), spdlog::level::err,
                      "this process carries {} whose handlers ignore their stop tokens, more than {}: it ends",
                      counted(abandoned_threads(), "thread"), common_->settings.max_abandoned_threads);
  }
}

Shutdown Worker::shutdown_of(const Incarnation& incarnation) const {
  const WorkerSettings& settings = common_->settings;
  const Shutdown::Times times = Shutdown::times_within(
      shutdown_limit_, {.grace = incarnation.grace(settings.grace), .stop_grace = settings.stop_grace});
  if (times.grace > milliseconds{0})
    common_->log->log(event("worker_stopping"), spdlog::level::info, "stopping: what runs has {} to finish",
                      duration_to_text(times.grace));
  return Shutdown{times};
}

/// False if the worker was told to stop before.
bool Worker::register_next() {
  common_->board->note(WorkerStatus::State::beginning);
  const auto registered = register_again(*common_, lease_->id());
  if (!registered) return false;
  hold(*registered);
  is_again_ = true;
  return true;
}

}  // namespace dogged::runtime
