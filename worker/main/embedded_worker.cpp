// dogged::Worker: the runtime on a thread of its own.
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include <dogged/detail/mutex.hpp>
#include <dogged/retry_metrics.hpp>
#include <dogged/worker.hpp>

#include "base/wake_fd.hpp"
#include "client/database_url.hpp"
#include "client/escaping_log.hpp"
#include "client/log_event.hpp"
#include "http/page_server.hpp"
#include "http/pages.hpp"
#include "main/worker_settings.hpp"
#include "runtime/worker.hpp"
#include "tasks/definition.hpp"
#include "tasks/schedules.hpp"
#include "trace/otlp_exporter.hpp"

namespace dogged {
namespace {

constexpr std::string_view listen_option = "metrics_listen (--metrics-listen)";

std::shared_ptr<spdlog::logger> log_of(const WorkerOptions& options) {
  return escaping(options.log ? options.log : spdlog::default_logger());
}

WorkerEnd end_of(const runtime::ShutdownResult& result, std::int64_t lease) {
  WorkerEnd end;
  end.reason = result.has_too_many ? WorkerEnd::Reason::too_many_abandoned_threads : WorkerEnd::Reason::stopped;
  end.lease = lease;
  end.given_back = result.given_back;
  end.interrupted = result.interrupted;
  end.left_behind = result.left_behind;
  end.abandoned_threads = result.abandoned_threads;
  return end;
}

/// How far a worker has come, for the threads that wait for it. Thread-safe.
class Course {
 public:
  /// False if it was begun before.
  [[nodiscard]] bool begin() {
    const detail::Lock lock{mutex_};
    if (state_ != State::created) return false;
    state_ = State::starting;
    return true;
  }

  void note_running() {
    const detail::Lock lock{mutex_};
    has_run_ = true;
    state_ = State::running;
    changed_.notify_all();
  }

  /// False if wait_started() tells of the end.
  bool finish(const WorkerEnd& end) {
    const detail::Lock lock{mutex_};
    end_ = end;
    state_ = State::ended;
    changed_.notify_all();
    return has_run_ || !end.error;
  }

  /// Waits until the worker runs or has ended. Throws the error that kept the worker from running.
  void wait_started() {
    detail::Lock lock{mutex_};
    while (state_ == State::starting) changed_.wait(lock);
    if (!has_run_ && end_.error) std::rethrow_exception(end_.error);
  }

  /// Waits until the worker has ended. Nothing if it was never begun.
  [[nodiscard]] std::optional<WorkerEnd> wait_ended() {
    detail::Lock lock{mutex_};
    if (state_ == State::created) return std::nullopt;
    while (state_ != State::ended) changed_.wait(lock);
    return end_;
  }

 private:
  enum class State { created, starting, running, ended };

  detail::Mutex mutex_;
  detail::Condition changed_;
  State state_ DOGGED_GUARDED_BY(mutex_) = State::created;
  bool has_run_ DOGGED_GUARDED_BY(mutex_) = false;
  WorkerEnd end_ DOGGED_GUARDED_BY(mutex_);
};

/// Shows a worker to the outside: by pages over HTTP, and by the spans of its attempts.
class Telemetry {
 public:
  Telemetry(const WorkerOptions& options, std::shared_ptr<runtime::StatusBoard> board,
            std::shared_ptr<spdlog::logger> log)
      : environment_(options.environment),
        metric_names_(options.metrics_names),
        board_(std::move(board)),
        log_(std::move(log)) {
    if (options.metrics_listen.empty()) return;
    listens_on_ = http::listen_address_from_text(std::string{listen_option}, options.metrics_listen);
  }

  /// Serves pages until the destructor, if WorkerOptions::metrics_listen says so.
  void serve_pages() {
    if (!listens_on_) return;
    server_.emplace(std::string{listen_option}, *listens_on_,
                    [board = board_, names = metric_names_](std::string_view path, std::string_view accept) {
                      const runtime::WorkerStatus status = board->read(runtime::SteadyClock::now());
                      const runtime::Tally& tally = *board->tally();
                      return runtime::page_at(
                          path, accept,
                          {status, tally.attempts, tally.traces, operation_counts(), retry_metrics(), names});
                    });
    log_->log(event("metrics_served"), spdlog::level::info,
              "metrics on http://{}/metrics, with /livez, /readyz and /status", to_text(server_->address()));
  }

  /// Null: the environment names no collector.
  std::shared_ptr<Tracer> export_spans(const std::string& worker) {
    runtime::OtlpSettingsRead read = runtime::read_otlp_settings(environment_);
    for (const std::string& warning : read.warnings)
      log_->log(event("traces_misconfigured"), spdlog::level::warn, "traces: {}", warning);
    if (!read.settings) return nullptr;
    exporter_.emplace(*std::move(read.settings), worker, board_->tally(), log_);
    return exporter_->tracer();
  }

  /// Sends the last spans.
  void finish_spans() {
    if (exporter_) exporter_->stop();
  }

 private:
  const Environment environment_;
  const MetricNames metric_names_;
  const std::shared_ptr<runtime::StatusBoard> board_;
  const std::shared_ptr<spdlog::logger> log_;
  std::optional<http::ListenAddress> listens_on_;
  std::optional<http::PageServer> server_;
  std::optional<runtime::OtlpExporter> exporter_;
};

}  // namespace

Tasks Tasks::registered() {
  if (detail::registration_failed()) throw Error("out of memory while tasks were registered, before main began");
  Tasks tasks;
  tasks.all_ = detail::registered_tasks();
  tasks.schedules_ = detail::declared_schedules();
  return tasks;
}

class Worker::Impl {
 public:
  Impl(WorkerOptions options, const Tasks& tasks)
      : log_(log_of(options)),
        settings_(runtime::settings_of(options)),
        definitions_(runtime::definitions_of(options, tasks, log_)),
        on_end_(std::move(options.on_end)),
        telemetry_(options, board_, log_) {
    settings_.schedules = runtime::declarations_of(tasks.schedules(), definitions_);
  }

  ~Impl() {
    stop_.wake();
    if (thread_.joinable()) thread_.join();
  }

  void start() {
    if (!course_.begin()) {
      throw InvalidInput("the worker " + settings_.name + " was started before",
                         "a worker runs once: make another dogged::Worker");
    }
    try {
      begin();
    } catch (...) {
      finish({.reason = WorkerEnd::Reason::failed, .error = std::current_exception()});
      throw;
    }
    course_.wait_started();
  }

  void request_stop() const noexcept { stop_.wake(); }

  WorkerEnd stop(std::optional<milliseconds> time) {
    if (time) limit_shutdown(*time);
    stop_.wake();
    return course_.wait_ended().value_or(WorkerEnd{});
  }

  WorkerEnd wait() {
    if (const std::optional<WorkerEnd> end = course_.wait_ended()) return *end;
    throw InvalidInput("the worker " + settings_.name + " was never started", "call start() first");
  }

 private:
  void begin() {
    const DatabaseUrl database = find_database_url(settings_.database.url);
    telemetry_.serve_pages();
    runtime::WorkerSettings settings = settings_;
    settings.database.url = database.url;
    if (!settings.tracer) settings.tracer = telemetry_.export_spans(settings_.name);
    std::unique_ptr<runtime::Worker> worker;
    try {
      worker = std::make_unique<runtime::Worker>(settings, std::move(definitions_), log_, stop_, board_);
    } catch (...) {
      rethrow_with_source(database);
    }
    const detail::Lock lock{mutex_};
    worker_ = std::move(worker);
    if (stop_within_) worker_->limit_shutdown(*stop_within_);
    thread_ = std::thread{[this, running = worker_.get()] { run(*running); }};
  }

  void limit_shutdown(milliseconds time) {
    runtime::require_in("the time to stop", time, runtime::ranges::grace);
    const detail::Lock lock{mutex_};
    stop_within_ = time;
    if (worker_) worker_->limit_shutdown(time);
  }

  /// The thread.
  void run(runtime::Worker& worker) {
    WorkerEnd end;
    try {
      const runtime::ShutdownResult result = worker.run([this] { course_.note_running(); });
      end = end_of(result, worker.id().value_or(0));
    } catch (...) {
      end = {.reason = WorkerEnd::Reason::failed,
             .error = std::current_exception(),
             .lease = worker.id().value_or(0),
             .abandoned_threads = worker.abandoned_threads()};
    }
    telemetry_.finish_spans();
    if (finish(end) && on_end_) tell(end);
  }

  /// False if start() tells of the end.
  bool finish(const WorkerEnd& end) {
    board_->note(runtime::WorkerStatus::State::ended);
    return course_.finish(end);
  }

  void tell(const WorkerEnd& end) const noexcept {
    try {
      on_end_(end);
    } catch (const std::exception& error) {
      log_->log(event("on_end_failed"), spdlog::level::err,
                "WorkerOptions::on_end has thrown, which changes nothing: {}", error.what());
    } catch (...) {
      log_->log(event("on_end_failed"), spdlog::level::err, "WorkerOptions::on_end has thrown, which changes nothing");
    }
  }

  const std::shared_ptr<spdlog::logger> log_;
  runtime::WorkerSettings settings_;  // changed by the constructor alone
  runtime::Definitions definitions_;  // moved from when the worker starts
  const std::function<void(const WorkerEnd&)> on_end_;
  const runtime::WakeFd stop_;
  const std::shared_ptr<runtime::StatusBoard> board_ =
      std::make_shared<runtime::StatusBoard>(settings_.name, settings_.heartbeat);
  Course course_;

  detail::Mutex mutex_;
  std::optional<milliseconds> stop_within_ DOGGED_GUARDED_BY(mutex_);
  std::unique_ptr<runtime::Worker> worker_ DOGGED_GUARDED_BY(mutex_);  // once it is made, it stays

  std::thread thread_;
  Telemetry telemetry_;  // from start() to the destructor
};

Worker::Worker(WorkerOptions options, const Tasks& tasks) : impl_(std::make_unique<Impl>(std::move(options), tasks)) {}
Worker::~Worker() = default;

void Worker::start() { impl_->start(); }
void Worker::request_stop() noexcept { impl_->request_stop(); }
WorkerEnd Worker::stop() { return impl_->stop(std::nullopt); }
WorkerEnd Worker::stop(milliseconds time) { return impl_->stop(time); }
WorkerEnd Worker::wait() { return impl_->wait(); }

}  // namespace dogged
