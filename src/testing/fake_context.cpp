// A Context in virtual time.
#include <algorithm>
#include <mutex>
#include <stop_token>

#include <spdlog/sinks/base_sink.h>

#include <dogged/detail/mutex.hpp>
#include <dogged/detail/sql_call.hpp>
#include <dogged/testing.hpp>

namespace dogged::testing {
namespace {

/// Keeps each message with its level.
class KeepingSink final : public spdlog::sinks::base_sink<std::mutex> {
 public:
  [[nodiscard]] std::vector<std::string> lines() {
    const std::scoped_lock lock{mutex_};
    return lines_;
  }

 private:
  void sink_it_(const spdlog::details::log_msg& message) override {
    const auto level = spdlog::level::to_string_view(message.level);
    lines_.push_back(std::string{level.data(), level.size()} + ": " +
                     std::string{message.payload.data(), message.payload.size()});
  }
  void flush_() override {}

  std::vector<std::string> lines_;
};

void require_not_negative(const char* what, milliseconds time) {
  if (time.count() < 0) {
    throw InvalidInput(std::string{what} + " of a FakeContext is " + std::to_string(time.count()) + " ms, below 0",
                       "virtual time goes forward: give 0 ms or more");
  }
}

void require_reason(StopReason reason) {
  if (reason == StopReason::none) {
    throw InvalidInput("StopReason::none stops no handler",
                       "give timeout, cancelled, shutdown or lease_lost, as a worker does");
  }
}

[[noreturn]] void refuse(const std::string& call) {
  throw InvalidInput(call + " was called with a FakeContext, and there is no task in a database",
                     "enqueue the task in a database of dogged::testing::Server, and run it with "
                     "dogged::testing::drain");
}

}  // namespace

class FakeContext::Impl {
 public:
  explicit Impl(ContextOptions with) : options(std::move(with)), sink(std::make_shared<KeepingSink>()) {
    require_not_negative("the timeout", options.timeout);
    if (options.timeout.count() > 0) deadline = now + options.timeout;
    std::vector<spdlog::sink_ptr> sinks{sink};
    if (options.log) sinks.push_back(std::make_shared<Forward>(options.log));
    steps = options.steps;
    checkpoints = options.checkpoints;
    log = std::make_unique<spdlog::logger>("test", sinks.begin(), sinks.end());
    log->set_level(spdlog::level::trace);
  }

  /// Up to the first stop where `until_stop`. The token is set without the lock: a callback of it may ask the context.
  void move_clock(milliseconds time, bool until_stop) {
    StopReason reached = StopReason::none;
    {
      const dogged::detail::Lock lock{mutex};
      const auto left = std::chrono::duration_cast<milliseconds>(Clock::time_point::max() - now);
      const Clock::time_point wanted = now + std::min(time, left);
      const Clock::time_point first = std::min(deadline, planned);
      if (wanted >= first && reason == StopReason::none) {
        reached = planned <= deadline ? planned_reason : StopReason::timeout;
      }
      now = reached != StopReason::none && until_stop ? std::max(now, first) : wanted;
    }
    if (reached != StopReason::none) stop(reached);
  }

  void stop(StopReason why) {
    {
      const dogged::detail::Lock lock{mutex};
      if (reason != StopReason::none) return;
      reason = why;
    }
    source.request_stop();
  }

  /// Hands lines on to the logger that the test gave.
  class Forward final : public spdlog::sinks::base_sink<std::mutex> {
   public:
    explicit Forward(std::shared_ptr<spdlog::logger> to) : to_(std::move(to)) {}

   private:
    void sink_it_(const spdlog::details::log_msg& message) override { to_->log(message.level, message.payload); }
    void flush_() override { to_->flush(); }

    std::shared_ptr<spdlog::logger> to_;
  };

  const ContextOptions options;
  const std::shared_ptr<KeepingSink> sink;
  std::unique_ptr<spdlog::logger> log;
  std::stop_source source;
  Clock::time_point deadline = Clock::time_point::max();  // does not change once it is made
  mutable dogged::detail::Mutex mutex;
  Clock::time_point now DOGGED_GUARDED_BY(mutex) = Clock::now();
  Clock::time_point planned DOGGED_GUARDED_BY(mutex) = Clock::time_point::max();
  StopReason planned_reason DOGGED_GUARDED_BY(mutex) = StopReason::none;
  StopReason reason DOGGED_GUARDED_BY(mutex) = StopReason::none;
  std::optional<TaskProgress> progress DOGGED_GUARDED_BY(mutex);
  std::map<std::string, std::string> steps DOGGED_GUARDED_BY(mutex);
  std::map<std::string, std::string> checkpoints DOGGED_GUARDED_BY(mutex);
};

FakeContext::FakeContext(ContextOptions options) : impl_(std::make_unique<Impl>(std::move(options))) {}
FakeContext::~FakeContext() = default;

void FakeContext::stop(StopReason reason) {
  require_reason(reason);
  impl_->stop(reason);
}

void FakeContext::stop_after(milliseconds time, StopReason reason) {
  require_reason(reason);
  require_not_negative("the time of stop_after", time);
  {
    const dogged::detail::Lock lock{impl_->mutex};
    impl_->planned = impl_->now + time;
    impl_->planned_reason = reason;
  }
  impl_->move_clock(milliseconds{0}, true);
}

void FakeContext::advance(milliseconds time) {
  require_not_negative("the time of advance", time);
  impl_->move_clock(time, false);
}

bool FakeContext::wait_for(milliseconds time) {
  if (impl_->source.stop_requested()) return false;
  impl_->move_clock(std::max(time, milliseconds{0}), true);
  return !impl_->source.stop_requested();
}

std::vector<std::string> FakeContext::log_lines() const { return impl_->sink->lines(); }
TaskId FakeContext::task_id() const noexcept { return impl_->options.task_id; }
int FakeContext::attempt() const noexcept { return impl_->options.attempt; }
int FakeContext::retry_count() const noexcept { return impl_->options.retry_count; }
std::string_view FakeContext::task_name() const noexcept { return impl_->options.task_name; }
std::string_view FakeContext::queue() const noexcept { return impl_->options.queue; }
std::string_view FakeContext::args_json() const noexcept { return impl_->options.args_json; }
std::string_view FakeContext::trace_context() const noexcept { return impl_->options.trace_context; }
std::optional<std::chrono::system_clock::time_point> FakeContext::scheduled_for() const {
  return impl_->options.scheduled_for;
}
const std::string& FakeContext::database_url() const noexcept { return impl_->options.database_url; }
Context::Clock::time_point FakeContext::deadline() const noexcept { return impl_->deadline; }

Context::Clock::time_point FakeContext::now() const noexcept {
  const dogged::detail::Lock lock{impl_->mutex};
  return impl_->now;
}

std::stop_token FakeContext::stop_token() const noexcept { return impl_->source.get_token(); }

StopReason FakeContext::stop_reason() const noexcept {
  const dogged::detail::Lock lock{impl_->mutex};
  return impl_->reason;
}

spdlog::logger& FakeContext::log() const { return *impl_->log; }

std::optional<TaskProgress> FakeContext::last_progress() const {
  const dogged::detail::Lock lock{impl_->mutex};
  return impl_->progress;
}

void FakeContext::note_progress(std::optional<double> fraction, std::string_view message) {
  const dogged::detail::Lock lock{impl_->mutex};
  impl_->progress = TaskProgress{
      .attempt = impl_->options.attempt, .fraction = fraction, .message = std::string{message}, .reported_at = {}};
}

std::map<std::string, std::string> FakeContext::steps() const {
  const dogged::detail::Lock lock{impl_->mutex};
  return impl_->steps;
}

std::optional<std::string> FakeContext::recorded_step(std::string_view name) {
  const dogged::detail::Lock lock{impl_->mutex};
  const auto found = impl_->steps.find(std::string{name});
  return found == impl_->steps.end() ? std::nullopt : std::optional{found->second};
}

void FakeContext::record_step(std::string_view name, const std::string& result_json, Clock::time_point) {
  const dogged::detail::Lock lock{impl_->mutex};
  impl_->steps.emplace(name, result_json);
}

std::map<std::string, std::string> FakeContext::checkpoints() const {
  const dogged::detail::Lock lock{impl_->mutex};
  return impl_->checkpoints;
}

std::optional<std::string> FakeContext::last_checkpoint(std::string_view name) {
  const dogged::detail::Lock lock{impl_->mutex};
  const auto found = impl_->checkpoints.find(std::string{name});
  return found == impl_->checkpoints.end() ? std::nullopt : std::optional{found->second};
}

void FakeContext::save_checkpoint(std::string_view name, const std::string& value_json) {
  const dogged::detail::Lock lock{impl_->mutex};
  impl_->checkpoints.insert_or_assign(std::string{name}, value_json);
}

std::optional<std::string> FakeContext::wait_durably(std::string_view name, dogged::detail::WaitFor what,
                                                     milliseconds time) {
  if (what == dogged::detail::WaitFor::event) {
    const auto found = impl_->options.events.find(std::string{name});
    if (found != impl_->options.events.end()) return found->second;
  }
  advance(time);
  return std::nullopt;
}

dogged::detail::SqlCall FakeContext::step_call(std::string_view, const std::string&, Clock::time_point) {
  refuse("step_in");
}

Context::Completion FakeContext::begin_completion() { refuse("complete_in"); }

}  // namespace dogged::testing
