// The connection of a client, and calls over it that are repeated while they fail for a passing reason.
#pragma once

#include <chrono>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>

#include <spdlog/logger.h>

#include <dogged/client.hpp>
#include <dogged/retry_options.hpp>

#include "client/enqueue_statement.hpp"
#include "db/connection.hpp"

namespace dogged {

/// How log lines and errors name a call.
struct Wording {
  std::string_view name;
  std::string nothing_done;       ///< nothing was enqueued
  std::string may_have_happened;  ///< the tasks may have been enqueued
};

/// A call that takes effect once, however often it is repeated.
struct RepeatableCall {
  Wording words;
  std::span<const NewTask> kinds;  ///< of the tasks that the call enqueues (NewTasks)
  /// Makes the call under a key, or under none if it is not repeated.
  std::function<db::BoundStatement(const CallKey&)> with_key;
  /// Reads the answer of an earlier try that took effect, if there was one.
  std::function<db::BoundStatement(const CallKey&)> made;
};

/// Not thread-safe. A call that may have taken effect is repeated under the same idempotency key, so that it takes
/// effect once.
class RepeatableCalls {
 public:
  struct Settings {
    db::Settings database;
    RetryPolicy retry;
    milliseconds retry_for;  ///< of all tries of a call
    bool warns_of_undeclared = true;
    std::shared_ptr<spdlog::logger> log;
  };

  /// Connects. Throws ConnectionError, SchemaMismatch.
  explicit RepeatableCalls(Settings settings);

  /// `waited`: the part of retry_for that is over already.
  [[nodiscard]] db::Rows run(const RepeatableCall& call, std::chrono::steady_clock::duration waited);

  /// The same for `work`, which only reads.
  void read(std::string_view name, const std::function<void(db::Connection&)>& work,
            std::chrono::steady_clock::duration waited);

 private:
  [[nodiscard]] RetryOptions options_of(std::string_view name, std::chrono::steady_clock::duration waited) const;
  [[nodiscard]] ConnectionError client_was_busy(const std::string& nothing_done) const;
  void prepare(std::span<const NewTask> tasks);
  [[nodiscard]] bool prepare(const NewTask& task);
  [[nodiscard]] db::Rows repeat(const db::BoundStatement& call, const db::BoundStatement& made);
  template <class Work>
  auto on_connection(Work work);
  void lost(const std::string& why);
  void connect_if_closed();
  void connect();

  const Settings settings_;
  const std::string producer_;
  std::int64_t calls_ = 0;
  std::set<std::string, std::less<>> prepared_;  // names of tasks
  bool prepares_ = true;                         // until the connection turns out to go through a pooler
  std::optional<db::Connection> connection_;
};

}  // namespace dogged
