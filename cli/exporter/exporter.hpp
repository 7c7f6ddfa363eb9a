// Serves the figures of the fleet. One thread reads the database when a scrape asks for it, on one connection. So
// scrapes at the same time share a reading.
#pragma once

#include <chrono>
#include <cstdint>
#include <exception>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <thread>

#include <spdlog/logger.h>

#include <dogged/detail/mutex.hpp>

#include "cli/exporter/core/fleet_metrics.hpp"
#include "cli/exporter/reader.hpp"
#include "http/page.hpp"

namespace dogged::cli::exporter {

/// Thread-safe.
class Exporter {
 public:
  /// Begins with a reading: from then on new attempts are counted. Does not wait for this reading.
  Exporter(Reader::Connect connect, std::shared_ptr<spdlog::logger> log);
  ~Exporter();
  Exporter(const Exporter&) = delete;
  Exporter& operator=(const Exporter&) = delete;

  /// Ends the statement that runs, and lets no scrape wait any more.
  void stop();

  /// Throws the error that has ended the readings, so that the command ends too. InvalidInput: the first reading found
  /// that the database's URL is none. Any other error is a defect (db::is_defect). A database that is away is no error.
  void require_going_on();

  /// At most two threads wait here for PostgreSQL, so the server's third thread always answers /livez. `accept`: the
  /// request's header of that name; may be empty.
  [[nodiscard]] http::Page page(std::string_view path, std::string_view accept);

 private:
  enum class State { idle, wanted, reading, ended };

  void serve();
  [[nodiscard]] bool wait_for_wish();
  void publish(Reading reading);
  [[nodiscard]] bool is_over_after(const std::exception& error);
  [[nodiscard]] bool refresh(detail::Lock& lock) DOGGED_REQUIRES(mutex_);
  void wait_for_reading(detail::Lock& lock, std::chrono::steady_clock::time_point until) DOGGED_REQUIRES(mutex_);
  void tell_of(const std::vector<Asked>& asked) DOGGED_REQUIRES(mutex_);
  void lose(const std::string& why) DOGGED_REQUIRES(mutex_);
  void end_reading() DOGGED_REQUIRES(mutex_);

  const std::shared_ptr<spdlog::logger> log_;
  Reader reader_;
  detail::Mutex mutex_;
  detail::Condition changed_;
  State state_ DOGGED_GUARDED_BY(mutex_) = State::wanted;
  std::exception_ptr why_ended_ DOGGED_GUARDED_BY(mutex_);
  int waiting_ DOGGED_GUARDED_BY(mutex_) = 0;  // for a reading
  std::uint64_t readings_ DOGGED_GUARDED_BY(mutex_) = 0;
  std::chrono::steady_clock::time_point read_at_ DOGGED_GUARDED_BY(mutex_){};
  FleetMetrics metrics_ DOGGED_GUARDED_BY(mutex_);
  bool was_told_of_loss_ DOGGED_GUARDED_BY(mutex_) = false;
  std::set<Query> refused_ DOGGED_GUARDED_BY(mutex_);  // that the log told of
  std::thread thread_;
};

}  // namespace dogged::cli::exporter
