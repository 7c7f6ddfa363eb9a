// What every worker does now and then for all: ends lapsed leases, rescues what was held under them, ends tasks that
// nobody started in time, makes the partitions of the coming days, drops those that are older than they are kept, and
// tells when another worker has declared a task differently. The two workers that began first look each heartbeat what
// there is to do; the others when the next lease lapses, and every few heartbeats.
#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <stop_token>
#include <string>

#include <spdlog/logger.h>

#include "definition.hpp"
#include "lease.hpp"
#include "retention/retention.hpp"
#include "service_thread.hpp"
#include "session.hpp"

namespace dogged::runtime {

/// Thread-safe.
class Upkeep {
 public:
  struct Settings {
    milliseconds heartbeat{5'000};  ///< how often it looks, if it is one of the two that began first
    /// Others may have lost the server as well: they get a heartbeat's time to renew before any lease is ended.
    bool lets_others_renew = false;
    milliseconds first_chores{60'000};  ///< after the start
    milliseconds chores_again{60'000};  ///< after they failed, or left something to do
  };

  /// `on_rescued` is called on its thread when rescued tasks are ready to be claimed. `lease`, the worker's own, and
  /// `definitions` must outlive it.
  Upkeep(Session session, Settings settings, const Lease& lease, const Definitions& definitions,
         std::function<void()> on_rescued, std::shared_ptr<spdlog::logger> log);
  ~Upkeep();

  /// A worker has registered: its lease may lapse earlier than any that is known, and its definitions may differ.
  void look();
  void stop();

  /// As Session::abort_if_busy_for.
  SteadyClock::time_point abort_if_busy_for(milliseconds patience, SteadyClock::time_point now) noexcept {
    return session_.abort_if_busy_for(patience, now);
  }

 private:
  void run();
  bool step();
  /// What there is to do for all workers.
  struct Outlook {
    bool has_to_rescue = false;
    std::optional<milliseconds> lapses_in;  ///< of the next lease
    [[nodiscard]] bool has_lapsed() const { return lapses_in.value_or(milliseconds{0}) < milliseconds{0}; }
    bool has_expired = false;
    bool comes_first = true;           ///< this worker looks often
    milliseconds newest_began_ago{0};  ///< the newest worker: its definitions may differ
    SteadyClock::time_point asked_at;
    std::optional<std::int64_t> look_back_ms;  ///< for what has expired; nothing: for ever
  };
  /// What there is to do after it has rescued; nothing if it may not end leases yet.
  [[nodiscard]] std::optional<Outlook> rescue();
  [[nodiscard]] bool lets_others_renew();
  void expire(const Outlook& found);
  void do_chores();
  /// False where a table was in use or another worker at it, and something is left to do.
  bool apply_retention();
  void compare_definitions();
  [[nodiscard]] Outlook outlook();

  Session session_;
  const Settings settings_;
  const Lease& lease_;
  const Definitions& definitions_;
  const std::function<void()> on_rescued_;
  const std::shared_ptr<spdlog::logger> log_;

  // Of its thread alone.
  SteadyClock::time_point chores_at_;
  bool must_compare_ = true;  // definitions
  SteadyClock::time_point compared_at_;
  SteadyClock::time_point may_end_leases_at_;
  std::optional<SteadyClock::time_point> put_off_at_;  // the end of leases that have lapsed
  SteadyClock::time_point look_at_;
  SteadyClock::time_point expired_at_;                            // when it looked last for what has expired
  SteadyClock::time_point expire_all_at_;                         // when it looks not only for what has expired since
  retention::Extent retention_extent_ = retention::Extent::days;  // of the next round
  std::set<std::string> adopted_;     // tasks for which another worker's declaration is in force
  std::set<std::string> unreadable_;  // tasks for which that cannot be read

  std::mutex mutex_;
  std::condition_variable changed_;
  bool woken_ = true;
  std::stop_source stop_;
  ServiceThread thread_;  // last: it uses all of the above
};

}  // namespace dogged::runtime
