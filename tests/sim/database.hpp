// A model of the database, as far as the protocol goes: one function for each statement, named as its file in src/sql.
// A statement takes effect at once and whole, as under its row locks in PostgreSQL.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "claim/queues.hpp"
#include "claim/settling.hpp"
#include "claim/sleep.hpp"
#include "mutant.hpp"
#include "report/batch.hpp"
#include "runtime/claimed_task.hpp"
#include "scheduler.hpp"
#include "upkeep/agenda.hpp"

namespace dogged::sim {

struct Task {
  enum class State { pending, running, ended };

  State state = State::pending;
  int attempt = 0;
  int retry_count = 0;
  std::int64_t worker = 0;
  std::string queue = "default";
  int priority = 0;
  bool deferred = false;
  TimePoint due_at{};
  std::int64_t position = 0;
  bool cancel_requested = false;
  std::string outcome;  // of the task, once it has ended
  TimePoint locked_until{};

  [[nodiscard]] runtime::Place place() const { return (runtime::Place{priority} << 47) + position; }
};

using Queues = std::set<std::string>;

struct WorkerRow {
  Queues queues = {};
  TimePoint lease_until{};
  bool lease_ended = false;
  bool rescued = false;
  bool asleep = false;
  bool listens = false;
  std::int64_t claim_session = 0;
  std::map<std::int64_t, std::vector<TaskId>> claims = {};  // dogged.claims
};

struct AttemptRow {
  std::string outcome;
  std::int64_t worker = 0;
};

/// A broken promise.
struct Broken {
  std::string promise;
};

class Database {
 public:
  /// promote.sql takes 1000 tasks at once. Fewer show earlier what a worker does with the rest.
  Database(Scheduler& scheduler, Mutant mutant, std::size_t promoted_at_once = 2)
      : scheduler_(scheduler), mutant_(mutant), promoted_at_once_(promoted_at_once) {}

  /// Called with the worker that is notified, and the queue; an empty name stands for each of its queues.
  std::function<void(std::int64_t, const std::string&)> on_notify;

  // Producers. A transaction has its id before it takes positions, and looks for sleepers before it commits.
  struct Transaction {
    std::int64_t id = 0;
    std::uint64_t history = 0;  // a failover that loses commits ends the open transactions of the history before
    std::set<std::int64_t> sleepers = {};
    std::vector<TaskId> ids = {};
    milliseconds delay{0};
    std::string queue = {};
    int priority = 0;
  };
  [[nodiscard]] Transaction begin();
  void enqueue(Transaction& transaction, int how_many, milliseconds delay, const std::string& queue = "default",
               int priority = 0);
  void commit(const Transaction& transaction);
  void roll_back(const Transaction& transaction);

  // Operators.
  void cancel(TaskId id);
  /// Makes a dead letter pending again, or sets when a pending task runs next. False if the task is not of that kind.
  bool replay(TaskId id, milliseconds delay);
  bool reschedule(TaskId id, milliseconds delay);
  void pause(const std::string& queue, bool paused);
  [[nodiscard]] bool is_paused(const std::string& queue) const { return paused_.contains(queue); }

  /// The state of a replica. A failover to it loses later commits.
  struct Durable {
    std::map<TaskId, Task> tasks = {};
    std::map<std::pair<TaskId, int>, AttemptRow> attempts = {};
    std::map<std::int64_t, WorkerRow> workers = {};
    std::int64_t next_transaction = 1;
  };
  [[nodiscard]] const Durable& durable() const noexcept { return now_; }
  /// Gives the tasks of which something was lost. Sequences go on where they were, as docs/failover.md has the operator
  /// do.
  std::set<TaskId> fail_over(Durable replica);
  /// Another one after each such failover: nothing that was sent to the old server arrives at the new one.
  [[nodiscard]] std::uint64_t history() const noexcept { return history_; }

  // Workers.
  /// `previous`: the lease of the worker's last incarnation, which is ended.
  [[nodiscard]] std::int64_t register_worker(milliseconds lease, std::optional<std::int64_t> previous,
                                             const Queues& queues = {"default"});
  [[nodiscard]] bool heartbeat(std::int64_t worker, milliseconds lease);
  void listen(std::int64_t worker) { row_of(worker).listens = true; }
  void disconnect(std::int64_t worker) { row_of(worker).listens = false; }
  void begin_claim_session(std::int64_t worker, std::int64_t session);
  struct Claimed {
    TaskId id = 0;
    int attempt = 0;
    int retry_count = 0;
    runtime::Place place = 0;
  };
  [[nodiscard]] std::vector<Claimed> claim(std::int64_t worker, const runtime::QueueClaim& claim, std::int64_t session);
  struct Unknown {
    std::size_t released = 0;
    std::vector<TaskId> locked = {};
  };
  [[nodiscard]] Unknown release_unknown(std::int64_t worker, const std::vector<runtime::Attempt>& known,
                                        std::int64_t session);
  /// Gives the attempts that were not released.
  [[nodiscard]] std::vector<runtime::Attempt> release(std::int64_t worker,
                                                      const std::vector<runtime::Attempt>& attempts,
                                                      std::int64_t session);
  [[nodiscard]] std::set<TaskId> complete(std::int64_t worker, std::span<const runtime::Report> reports);
  [[nodiscard]] runtime::Holder who_holds(std::int64_t worker, const runtime::Attempt& attempt) const;
  [[nodiscard]] std::size_t promote(const Queues& queues = {"default"});
  [[nodiscard]] bool has_ready(const std::vector<runtime::QueueClaim>& in) const;
  [[nodiscard]] std::optional<milliseconds> due_in(const Queues& queues = {"default"}) const;
  void fall_asleep(std::int64_t worker);
  void wake_up(std::int64_t worker, std::int64_t session);
  [[nodiscard]] runtime::Sleep::Transactions transaction_bounds() {
    return {oldest_transaction(), now_.next_transaction++};
  }
  [[nodiscard]] std::int64_t oldest_transaction() const;
  void wake_others(std::int64_t worker, const Queues& queues = {"default"});
  /// The new entry; 0: none was made.
  [[nodiscard]] std::int64_t sum_up_claims(std::int64_t worker, const std::vector<TaskId>& held, std::int64_t last,
                                           std::int64_t session);
  struct Settlement {
    runtime::Settling::Answer answer;
    std::vector<std::optional<runtime::Place>> settled;  // for each part
  };
  [[nodiscard]] Settlement settle_watermarks(const std::vector<runtime::ServedQueues::Part>& parts,
                                             std::int64_t next_transaction,
                                             const std::vector<std::string>& names = {"default"});
  [[nodiscard]] runtime::Outlook upkeep_due(std::int64_t worker) const;
  void end_lapsed_leases(std::int64_t worker);
  struct Rescued {
    std::size_t tasks = 0;
    bool all = true;
  };
  [[nodiscard]] Rescued rescue(std::int64_t worker);

  /// Sets the server's clock, ahead or back.
  void step_clock(Duration time) { clock_ahead_ += time; }
  [[nodiscard]] bool clock_was_set() const noexcept { return clock_ahead_ != Duration{0}; }
  void lock(TaskId id, Duration time) { now_.tasks.at(id).locked_until = scheduler_.now() + time; }

  /// Of several tasks that one statement makes ready, it is not said which comes first: conformance takes PostgreSQL's
  /// order over.
  void adopt_position(TaskId id, std::int64_t position) { now_.tasks.at(id).position = position; }
  /// The last number of the sequence that gives ids and positions.
  [[nodiscard]] std::int64_t last_position() const noexcept { return last_position_; }

  [[nodiscard]] std::size_t lapsed_leases_ended() const noexcept { return lapsed_leases_ended_; }
  [[nodiscard]] const std::map<TaskId, Task>& tasks() const noexcept { return now_.tasks; }
  [[nodiscard]] const std::map<std::pair<TaskId, int>, AttemptRow>& attempts() const noexcept { return now_.attempts; }
  [[nodiscard]] const std::map<std::int64_t, WorkerRow>& workers() const noexcept { return now_.workers; }

 private:
  [[nodiscard]] TimePoint now() const { return scheduler_.now() + clock_ahead_; }
  /// Of a worker whose registration was lost: one whose lease was ended, which nobody else sees.
  [[nodiscard]] WorkerRow& row_of(std::int64_t worker);
  [[nodiscard]] bool has_session(std::int64_t worker, std::int64_t session) const;
  [[nodiscard]] bool is_locked(const Task& task) const { return scheduler_.now() < task.locked_until; }
  void give_back(Task& task);
  void place_in_front(Task& task);
  void end_lease(WorkerRow& row);
  void rescue_from(std::int64_t id, WorkerRow& row, Rescued& rescued, Queues& queues);
  void record(TaskId id, const Task& task, const std::string& outcome, std::int64_t worker);
  void notify_sleepers(const std::string& queue);
  void notify(std::int64_t worker, const std::string& queue);

  Scheduler& scheduler_;
  const Mutant mutant_;
  const std::size_t promoted_at_once_;
  Duration clock_ahead_{0};
  Queues paused_;
  Durable now_;
  WorkerRow lost_row_;
  std::uint64_t history_ = 0;
  std::set<std::int64_t> open_;  // transactions
  std::int64_t last_position_ = 0;
  std::int64_t last_claim_ = 0;
  std::int64_t last_worker_ = 0;
  std::size_t lapsed_leases_ended_ = 0;
};

}  // namespace dogged::sim
