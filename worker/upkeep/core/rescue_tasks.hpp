// A rescue decides here which statements come next, until no task is left that this worker can rescue. Pure: rescue.cpp
// carries this out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <string_view>
#include <vector>

namespace dogged::runtime {

/// The lost workers have their turns one after the other. In a turn, claims are gathered until they name
/// `tasks_at_once` tasks: most of these tasks may have ended long ago. Batches of the gathered claims follow, until a
/// batch rescues nothing. The worker is marked once that holds for all of its claims.
class RescueTasks {
 public:
  enum class Step {
    list_workers,  ///< whose leases were ended, and whose tasks have not all been rescued
    list_claims,   ///< of `worker`
    rescue_batch,  ///< of the tasks that `claims` of `worker` name, in a transaction
    mark_rescued,  ///< `worker`, in a transaction, unless tasks are left
    list_left,     ///< as list_workers: other sessions may have kept tasks from this rescue
    done,
  };
  struct Action {
    Step step = Step::done;
    std::int64_t worker = 0;  ///< 0: the step is of no worker
    std::vector<std::int64_t> claims = {};

    friend bool operator==(const Action&, const Action&) = default;
  };
  struct Claim {
    std::int64_t id = 0;
    std::int64_t tasks = 0;  ///< how many it names

    friend bool operator==(const Claim&, const Claim&) = default;
  };

  explicit RescueTasks(std::int64_t tasks_at_once) noexcept : tasks_at_once_(tasks_at_once) {}

  [[nodiscard]] Action next() const;

  // Events: one for each action. If the connection is lost, this rescue is over, and the next one begins anew.

  /// The answer to list_workers and to list_left.
  void on_workers(const std::vector<std::int64_t>& workers);
  void on_claims(const std::vector<Claim>& claims);
  /// A batch has rescued `tasks` tasks.
  void on_batch(std::size_t tasks);
  void on_marked();
  /// Another session rescues the worker's tasks, or has done so: the worker is left to that session.
  void on_locked();
  /// PostgreSQL has refused a statement of this worker's turn. The tasks of the other workers do not wait for it.
  void on_refused();

  /// Of a rescue that is done: no worker was left.
  [[nodiscard]] bool has_rescued_all() const;

 private:
  void next_worker() noexcept;
  void next_claims();

  std::int64_t tasks_at_once_;
  Step step_ = Step::list_workers;
  std::vector<std::int64_t> workers_ = {};   // the first has its turn
  std::vector<Claim> claims_ = {};           // of that worker, not yet gathered
  std::vector<std::int64_t> gathered_ = {};  // whose tasks are rescued
};

[[nodiscard]] std::string_view to_text(RescueTasks::Step step) noexcept;
std::ostream& operator<<(std::ostream& out, RescueTasks::Step step);
std::ostream& operator<<(std::ostream& out, const RescueTasks::Action& action);

}  // namespace dogged::runtime
