// See session.hpp.
#include "base/session.hpp"

#include <string>
#include <utility>

#include <dogged/retry_options.hpp>

#include "client/log_event.hpp"
#include "db/errors.hpp"

namespace dogged::runtime {

Session::Session(db::Settings settings, std::string service, std::shared_ptr<spdlog::logger> log,
                 milliseconds longest_backoff, std::shared_ptr<Failures> failures)
    : settings_(std::move(settings)),
      service_(std::move(service)),
      log_(std::move(log)),
      backoff_(longest_backoff),
      failures_(std::move(failures)) {
  settings_.application_name += " " + service_;
}

/// The next incarnation of the worker has a session of its own, which has not failed.
Session::~Session() {
  if (failures_) failures_->note_works(service_);
}

db::Connection& Session::connection() {
  if (connection_) return *connection_;
  connection_.emplace(settings_);
  let_break(&*connection_);
  try {
    connection_->set_up_session();
  } catch (...) {
    close();
    throw;
  }
  return *connection_;
}

void Session::let_break(db::Connection* connection) noexcept {
  const detail::Lock lock{mutex_};
  breakable_ = connection;
}

void Session::close() noexcept {
  let_break(nullptr);
  connection_.reset();
}

void Session::pause(milliseconds time, const std::stop_token& stop) const { (void)wait_or_stop(time, stop); }

void Session::abort() noexcept {
  const detail::Lock lock{mutex_};
  if (breakable_ != nullptr) breakable_->abort();
}

SteadyClock::time_point Session::abort_if_busy_for(milliseconds patience, SteadyClock::time_point now) noexcept {
  const detail::Lock lock{mutex_};
  const auto since = breakable_ != nullptr ? breakable_->busy_since() : std::nullopt;
  const AnswerPatience::Action action = patience_.look(since, patience, now);
  if (action.step == AnswerPatience::Step::give_up) {
    log_->log(event("connection_given_up"), spdlog::level::warn, "{}: no answer for {} ms: the connection is given up",
              service_, std::chrono::duration_cast<milliseconds>(now - *since).count());
  }
  if (action.step != AnswerPatience::Step::wait) breakable_->abort();
  return action.look_again_at;
}

void Session::recover_from(const std::exception& error, const std::stop_token& stop) {
  if (db::is_defect(error)) throw;
  if (dynamic_cast<const ConnectionError*>(&error) != nullptr) close();
  const std::string reason = db::one_line(error.what());
  if (failures_) failures_->note_failure(service_, reason);
  switch (outage_.on_failure(without_digits(reason))) {
    case Outage::Tell::first:
      log_->log(event("service_failed"), spdlog::level::warn, "{}: {}; trying again until it works", service_, reason);
      break;
    case Outage::Tell::other_reason:
      log_->log(event("service_failed"), spdlog::level::warn, "{}: {}; still trying", service_, reason);
      break;
    case Outage::Tell::nothing:
      break;
  }
  pause(backoff_.next(), stop);
}

void Session::succeeded() {
  if (!outage_.on_success()) return;
  log_->log(event("service_recovered"), spdlog::level::info, "{}: PostgreSQL answers again", service_);
  if (failures_) failures_->note_works(service_);
  backoff_.reset();
  const detail::Lock lock{mutex_};
  patience_.on_success();
}

}  // namespace dogged::runtime
