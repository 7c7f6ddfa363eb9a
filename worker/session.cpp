// See session.hpp.
#include "session.hpp"

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <utility>

namespace dogged::runtime {
namespace {

/// A message of libpq, or one with a hint, as one record of the log.
std::string one_line(std::string text) {
  text.erase(text.find_last_not_of('\n') + 1);
  for (auto at = text.find('\n'); at != std::string::npos; at = text.find('\n', at)) {
    text.replace(at, text.find_first_not_of("\n\t ", at) - at, "; ");
  }
  return text;
}

constexpr int most_doublings = 7;  // 100 ms · 2^6 is over every maximum already

}  // namespace

Session::Session(db::Settings settings, std::string service, std::shared_ptr<spdlog::logger> log,
                 milliseconds longest_backoff)
    : settings_(std::move(settings)),
      service_(std::move(service)),
      log_(std::move(log)),
      reconnect_policy_{.base = std::min(milliseconds{100}, longest_backoff),
                        .max_retries = most_doublings,
                        .max_delay = longest_backoff} {
  settings_.application_name += " " + service_;
}

db::Connection& Session::connection() {
  if (!connection_) {
    db::Connection made{settings_};
    const std::scoped_lock lock{*connection_mutex_};
    connection_.emplace(std::move(made));
  }
  return *connection_;
}

void Session::pause(milliseconds time, const std::stop_token& stop) const {
  std::mutex mutex;
  std::condition_variable_any never_notified;
  std::unique_lock lock{mutex};
  never_notified.wait_for(lock, stop, time, [] { return false; });
}

void Session::abort() noexcept {
  const std::scoped_lock lock{*connection_mutex_};
  if (connection_) connection_->abort();
}

void Session::abort_if_busy_since(SteadyClock::time_point time) noexcept {
  const std::scoped_lock lock{*connection_mutex_};
  if (!connection_) return;
  const auto since = connection_->busy_since();
  if (!since || *since >= time) return;
  if (!gave_up_) {
    log_->warn("{}: no answer for {} ms: the connection is given up", service_,
               std::chrono::duration_cast<milliseconds>(SteadyClock::now() - *since).count());
  }
  gave_up_ = true;
  connection_->abort();
}

void Session::recover_from(const std::exception& error, const std::stop_token& stop) {
  if (dynamic_cast<const ConnectionError*>(&error) != nullptr) {
    const std::scoped_lock lock{*connection_mutex_};
    connection_.reset();
  }
  if (failures_ == 0) log_->warn("{}: {}; trying again until it works", service_, one_line(error.what()));
  failures_ = std::min(failures_ + 1, most_doublings);
  const double draw = std::uniform_real_distribution<double>{0.0, 1.0}(generator_);
  pause(next_delay(reconnect_policy_, failures_, draw)->delay, stop);
}

void Session::succeeded() {
  if (failures_ == 0) return;
  log_->info("{}: PostgreSQL answers again", service_);
  failures_ = 0;
  const std::scoped_lock lock{*connection_mutex_};
  gave_up_ = false;
}

}  // namespace dogged::runtime
