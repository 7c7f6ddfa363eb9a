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

#include "cli/exporter/core/asking_again.hpp"
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
/// AskingAgain of Query::queues, which then costs at most a hundredth of a processor.
inline constexpr int counts_apart = 100;
/// AskingAgain of what changes seldom: Query::tables, Query::partitions and Query::schedules. With 10 million finished
/// tasks they took 17 of a reading's 39 ms, and on a slow machine a good third of 123 (decision 0015). There, with
/// scrapes each 15 s, each third reading asks for partitions.
inline constexpr int looks_apart = 1'000;
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
  /// The last answer to a question, which is kept for several readings.
  template <class Answer>
  struct Kept {
    Asked asked;
    AskingAgain again;
    std::optional<Answer> answer = {};
    std::chrono::steady_clock::time_point asked_at = {};
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
  template <class Answer, class Look>
  void ask_seldom(Reading& reading, Kept<Answer>& kept, std::chrono::milliseconds longest,
                  std::optional<Answer>& answer, Look look);
  void ask_for_what_is_new(Reading& reading);
  void ask_for_dead_letters(Reading& reading);

  const Connect connect_;
  detail::Mutex mutex_;
  std::shared_ptr<db::Connection> connection_ DOGGED_GUARDED_BY(mutex_);
  bool is_aborted_ DOGGED_GUARDED_BY(mutex_) = false;
  std::chrono::steady_clock::time_point began_;  // of this reading
  std::map<Query, LookBack> look_backs_;
  std::chrono::milliseconds look_back_ = least_look_back;  // as the last answer of Query::workers says
  Kept<std::vector<Queue>> queues_{{.query = Query::queues}, AskingAgain{counts_apart}};
  Kept<std::vector<Table>> tables_{{.query = Query::tables}, AskingAgain{looks_apart}};
  Kept<std::vector<Partitions>> partitions_{{.query = Query::partitions}, AskingAgain{looks_apart}};
  Kept<std::vector<Schedule>> schedules_{{.query = Query::schedules}, AskingAgain{looks_apart}};
  DeadLetterCount dead_letters_;
  Asked asked_for_dead_letters_{.query = Query::dead_letters};  // how the last slice went
  AskingAgain dead_letters_again_{0};                           // after a refusal
};

}  // namespace dogged::cli::exporter
