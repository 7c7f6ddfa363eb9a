// The claimer's view of the queues that its worker serves: which of them may hold tasks to claim. Pure.
#pragma once

#include <cstddef>
#include <iosfwd>
#include <string>
#include <string_view>
#include <vector>

#include "claim/core/watermarks.hpp"

namespace dogged::runtime {

/// A claim from one queue.
struct QueueClaim {
  std::size_t index = 0;  ///< of the queue, in the order of the worker's queues
  std::string queue;
  std::size_t how_many = 0;
  std::vector<Watermarks::Range> ranges = Watermarks{}.ranges();  ///< where the claim looks
  bool of_all = true;  ///< false: the claim does not try rows that other sessions have locked or claimed since

  friend bool operator==(const QueueClaim&, const QueueClaim&) = default;
};

class ServedQueues {
 public:
  enum class State {
    open,     ///< there may be tasks to claim
    drained,  ///< the last claim gave too little; a notification, a due time or the poll interval opens the queue
    paused,   ///< nothing is claimed, and nothing is looked for
  };
  struct Queue {
    std::string name;
    State state = State::open;
    Watermarks watermarks = {};
    bool holds_back = false;  ///< the pause has begun, and the worker still holds tasks that it claimed ahead
  };
  /// A part of a queue's places, for settle_watermarks.sql.
  struct Part {
    std::size_t queue = 0;  ///< its index
    Watermarks::Range range;

    friend bool operator==(const Part&, const Part&) = default;
  };

  explicit ServedQueues(const std::vector<std::string>& names);

  [[nodiscard]] const std::vector<Queue>& all() const noexcept { return queues_; }
  [[nodiscard]] bool any(State state) const noexcept;
  [[nodiscard]] bool all_paused() const noexcept;

  /// The claims to make if the worker has room for `demand[i]` tasks of queue i.
  [[nodiscard]] std::vector<QueueClaim> claims(const std::vector<std::size_t>& demand) const;
  /// Where a drained queue would hold a task without a notification.
  [[nodiscard]] std::vector<QueueClaim> drained() const;
  /// The parts that may be settled, once every transaction has ended that took a position up to `last_position`.
  [[nodiscard]] std::vector<Part> unsettled(std::int64_t last_position, bool from_beginning) const;

  /// The queue named `name` has a task, or each queue if the name is empty. False if the worker does not serve the
  /// queue, or it is paused.
  bool on_notified(std::string_view name);
  void look_again();
  /// The answer to a claim: the places of the tasks that were claimed.
  void on_claimed(const QueueClaim& claim, const std::vector<Place>& places);
  /// The answer for the parts of unsettled(): for some of them, the place up to which no task is ready.
  struct Settled {
    std::size_t queue = 0;
    Place upto = 0;
  };
  void on_settled(const std::vector<Settled>& settled, bool from_beginning);
  void set_paused(std::size_t queue, bool paused);
  /// The indices of queues that were paused since the last call and still are. The worker gives back the tasks that it
  /// claimed ahead from them. Running tasks go on.
  [[nodiscard]] std::vector<std::size_t> take_newly_paused();
  void forget_watermarks();

 private:
  std::vector<Queue> queues_;
};

[[nodiscard]] std::string_view to_text(ServedQueues::State state) noexcept;
std::ostream& operator<<(std::ostream& out, ServedQueues::State state);
std::ostream& operator<<(std::ostream& out, const ServedQueues::Part& part);
std::ostream& operator<<(std::ostream& out, const QueueClaim& claim);

}  // namespace dogged::runtime
