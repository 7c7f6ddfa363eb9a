// See session.hpp.
#include "session.hpp"

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <string>
#include <utility>

#include "db/errors.hpp"

namespace dogged::runtime {
namespace {

constexpr milliseconds between_aborts{1'000};  // of a connection that has not noticed
constexpr std::size_t most_reasons = 10;       // that are told of one outage

/// Processes, transactions and blocks that an error names are others each time.
std::string without_digits(std::string text) {
  std::erase_if(text, [](char c) { return c >= '0' && c <= '9'; });
  return text;
}

}  // namespace

Session::Session(db::Settings settings, std::string service, std::shared_ptr<spdlog::logger> log,
                 milliseconds longest_backoff)
    : settings_(std::move(settings)), service_(std::move(service)), log_(std::move(log)), backoff_(longest_backoff) {
  settings_.application_name += " " + service_;
}

db::Connection& Session::connection() {
  if (!connection_) {
    {
      db::Connection made{settings_};
      const std::scoped_lock lock{*connection_mutex_};
      connection_.emplace(std::move(made));
    }
    try {
      connection_->set_up_session();  // from here on it can be aborted
    } catch (...) {
      const std::scoped_lock lock{*connection_mutex_};
      connection_.reset();
      throw;
    }
  }
  return *connection_;
}

void Session::close() noexcept {
  const std::scoped_lock lock{*connection_mutex_};
  connection_.reset();
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

SteadyClock::time_point Session::abort_if_busy_for(milliseconds patience, SteadyClock::time_point now) noexcept {
  const std::scoped_lock lock{*connection_mutex_};
  if (!connection_) return now + patience;
  const auto since = connection_->busy_since();
  if (!since) return now + patience;
  if (now < *since + patience) return *since + patience;
  if (!gave_up_) {
    log_->warn("{}: no answer for {} ms: the connection is given up", service_,
               std::chrono::duration_cast<milliseconds>(now - *since).count());
  }
  gave_up_ = true;
  connection_->abort();
  return now + std::min(patience, between_aborts);
}

void Session::recover_from(const std::exception& error, const std::stop_token& stop) {
  if (dynamic_cast<const ConnectionError*>(&error) != nullptr) {
    const std::scoped_lock lock{*connection_mutex_};
    connection_.reset();
  }
  const std::string reason = db::one_line(error.what());
  const bool is_new = reasons_.size() < most_reasons && reasons_.insert(without_digits(reason)).second;
  if (!backoff_.is_failing()) {
    log_->warn("{}: {}; trying again until it works", service_, reason);
  } else if (is_new) {
    log_->warn("{}: {}; still trying", service_, reason);
  }
  pause(backoff_.next(), stop);
}

void Session::succeeded() {
  if (!backoff_.is_failing()) return;
  log_->info("{}: PostgreSQL answers again", service_);
  backoff_.reset();
  reasons_.clear();
  const std::scoped_lock lock{*connection_mutex_};
  gave_up_ = false;
}

}  // namespace dogged::runtime
