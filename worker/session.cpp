// See session.hpp.
#include "session.hpp"

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <utility>

namespace dogged::runtime {
namespace {

constexpr int longest_backoff = 7;  // 100 ms · 2^6 is over the maximum already
constexpr Exponential reconnect_policy{
    .base = milliseconds{100}, .max_retries = longest_backoff, .max_delay = std::chrono::seconds{5}};

void wait_for(milliseconds delay, const std::stop_token& stop) {
  std::mutex mutex;
  std::condition_variable_any never_notified;
  std::unique_lock lock{mutex};
  never_notified.wait_for(lock, stop, delay, [] { return false; });
}

}  // namespace

Session::Session(db::Settings settings, std::string service, std::shared_ptr<spdlog::logger> log)
    : settings_(std::move(settings)), service_(std::move(service)), log_(std::move(log)) {
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

void Session::cancel() noexcept {
  const std::scoped_lock lock{*connection_mutex_};
  if (connection_) connection_->cancel();
}

void Session::recover_from(const std::exception& error, const std::stop_token& stop) {
  if (dynamic_cast<const ConnectionError*>(&error) != nullptr) {
    const std::scoped_lock lock{*connection_mutex_};
    connection_.reset();
  }
  if (failures_ == 0) log_->warn("{}: {}; trying again until it works", service_, error.what());
  failures_ = std::min(failures_ + 1, longest_backoff);
  const double draw = std::uniform_real_distribution<double>{0.0, 1.0}(generator_);
  wait_for(next_delay(reconnect_policy, failures_, draw)->delay, stop);
}

void Session::succeeded() {
  if (failures_ > 0) log_->info("{}: PostgreSQL answers again", service_);
  failures_ = 0;
}

}  // namespace dogged::runtime
