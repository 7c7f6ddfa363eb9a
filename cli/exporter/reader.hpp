// Reads the state of the fleet for `dogged exporter`. Each question is a statement of its own, in cli/sql/exporter/ or
// shared with `dogged doctor` and `dogged circuits`.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <dogged/detail/mutex.hpp>

#include "cli/exporter/core/dead_letter_count.hpp"
#include "cli/exporter/core/look_back.hpp"
#include "cli/exporter/reading.hpp"
#include "db/connection.hpp"

namespace dogged::cli::exporter {

/// How long PostgreSQL may take for one statement, and for Query::queues, which reads all live tasks.
inline constexpr std::chrono::milliseconds longest_statement{2'000};
inline constexpr std::chrono::milliseconds longest_scan{5'000};
/// How long a reading may take, because a scrape waits for 8 s. No question takes longer than the rest of this time.
inline constexpr std::chrono::milliseconds longest_reading{7'000};
/// The reader repeats Query::queues after 100 times the duration of its last answer. That rule costs a hundredth of a
/// processor. Alerts of a backlog need an answer every two minutes, so two minutes are the longest wait after an
/// answer. After a refusal of this query or of Query::dead_letters, the reader waits 3 times as long as the refusal
/// took.
inline constexpr int answers_apart = 100;
inline constexpr std::chrono::minutes longest_apart{2};
inline constexpr int refusals_apart = 3;
/// The exporter looks back by the longest lease of a worker, and at least so far. Attempts become visible late if their
/// handler's transaction goes on, if another session has locked their task, or if their worker was cut off.
inline constexpr std::chrono::milliseconds least_look_back{120'000};

/// Where a question is asked, and until when PostgreSQL may take for its statements.
struct Asking {
  db::Connection& connection;
  std::chrono::steady_clock::time_point until;
};

/// Belongs to one thread, except abort().
class Reader {
 public:
  using Connect = std::function<db::Connection()>;
  explicit Reader(Connect connect) : connect_(std::move(connect)) {}

  /// Connects if need be, and asks all questions. A question that PostgreSQL refuses has a reason in place of an
  /// answer. Throws ConnectionError if the connection is lost, and as Connect does. The first reading finds nothing
  /// new.
  [[nodiscard]] Reading read();

  /// From any thread: breaks the connection, so that read() ends.
  void abort() noexcept;

 private:
  /// The last answer of Query::queues, which reads all live tasks.
  struct KeptQueues {
    std::optional<std::vector<Queue>> answer;
    Asked asked{};
    std::chrono::steady_clock::time_point asked_at{};
    std::chrono::steady_clock::time_point again_at{};  ///< when the question is asked again
  };

  void connect();
  [[nodiscard]] std::shared_ptr<db::Connection> connection();
  Reading read_once();
  Reading ask_all();
  template <class Answer, class Look>
  Asked ask(Query query, std::chrono::milliseconds longest, std::optional<Answer>& answer, Look look);
  template <class Answer, class Look>
  void ask(Reading& reading, Query query, std::optional<Answer>& answer, Look look);
  template <class Read>
  void read_new(const Asking& asking, Query query, std::chrono::microseconds back, Read read);
  void ask_for_what_is_new(Reading& reading);
  void ask_for_queues(Reading& reading);
  void ask_for_dead_letters(Reading& reading);

  const Connect connect_;
  detail::Mutex mutex_;
  std::shared_ptr<db::Connection> connection_ DOGGED_GUARDED_BY(mutex_);
  bool is_aborted_ DOGGED_GUARDED_BY(mutex_) = false;
  std::chrono::steady_clock::time_point began_;  // of this reading
  std::map<Query, LookBack> look_backs_;
  std::chrono::milliseconds look_back_ = least_look_back;  // as the last answer of Query::workers says
  KeptQueues queues_;
  DeadLetterCount dead_letters_;
  Asked asked_for_dead_letters_{.query = Query::dead_letters, .seconds = 0};  // how the last slice went
  std::chrono::steady_clock::time_point dead_letters_again_at_{};             // after a refusal
};

}  // namespace dogged::cli::exporter
