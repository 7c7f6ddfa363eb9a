// See service.hpp.
#include "base/service.hpp"

#include <chrono>
#include <utility>

#include "base/session.hpp"

namespace dogged::runtime {
namespace {

constexpr milliseconds between_breaks{200};  // of a connection whose thread has not noticed yet

}  // namespace

Service::Service(Settings settings) : settings_(std::move(settings)) {}

void Service::start(std::function<void()> work) {
  work_ = std::move(work);
  thread_ = std::thread{[this] {
    run();
    ended_.set_value();
  }};
}

void Service::run() noexcept {
  try {
    work_();
  } catch (...) {
    if (!settings_.on_defect) std::terminate();
    settings_.on_defect(std::current_exception());
  }
}

void Service::request_stop() noexcept {
  stop_.request_stop();
  wake();
}

TimePoint Service::break_if_stuck(TimePoint now) noexcept { return session().abort_if_busy_for(answer_within_, now); }

void Service::stop(milliseconds patience) {
  if (!thread_.joinable()) return;
  request_stop();
  const std::future<void> ended = ended_.get_future();
  while (ended.wait_for(patience) != std::future_status::ready) {
    if (settings_.session) settings_.session->abort();
    patience = between_breaks;
  }
  thread_.join();
}

void Service::recover_from(const std::exception& error) const { session().recover_from(error, stop_token()); }

bool Service::wait_until(TimePoint until) const noexcept {
  if (is_stopping()) return true;
  if (!settings_.wake.wait_until(until)) return false;
  settings_.wake.reset();
  return true;
}

}  // namespace dogged::runtime
