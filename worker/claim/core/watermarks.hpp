// Where in a queue a claim has to look. Pure.
//
// The index of ready tasks keeps the entries of ended tasks for as long as a transaction could still see them. A claim
// that walked over them each time would become slower and slower while an old snapshot is held. A claim need not: each
// lane gives out its places in rising order. So a place that was once found to hold no ready task never will again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <map>
#include <vector>

namespace dogged::runtime {

/// A task's place in the order of claims: priority · 2^47 + position (dogged.place). The position is its id. A task
/// that became ready later than it was enqueued has a later number from the same sequence. A task that was given back,
/// and is to run before others, has such a number less 2^46 (dogged.place_in_front). A lane is the 2^46 places of one
/// priority that have ids, or those in front of them.
using Place = std::int64_t;

[[nodiscard]] constexpr Place place_of(std::int64_t priority, std::int64_t position) noexcept {
  return (priority << 47) + position;
}

/// Of one queue.
class Watermarks {
 public:
  /// The places after `after`, up to and including `upto`.
  struct Range {
    Place after = 0;
    Place upto = 0;

    friend bool operator==(const Range&, const Range&) = default;
  };

  /// More lanes than this are not kept apart. The claimer looks through the least recently claimed lanes again.
  static constexpr std::size_t max_lanes = 16;

  /// The ranges that may hold ready tasks, in order.
  [[nodiscard]] std::vector<Range> ranges() const;

  /// Everything up to `place` in its lane was claimed, or passed over because another session had locked it. Claims do
  /// not look there again before forget_claimed().
  void note_claimed(Place place);
  void forget_claimed();
  [[nodiscard]] bool passes_over_claimed() const;

  /// The part of each lane that may be settled now, if every transaction has ended that took a position up to
  /// `last_position`.
  [[nodiscard]] std::vector<Range> unsettled(std::int64_t last_position) const;
  /// No task in the lane of `place` is ready up to `place`, and none will be. Claims do not look there again before the
  /// place is forgotten.
  void settle(Place place);
  /// The claimer settles all lanes anew, from their beginnings.
  void forget_settled();
  void forget();

 private:
  struct Lane {
    Place settled = 0;  // up to and including this place
    Place claimed = 0;
    std::uint64_t used = 0;  // when a claim last took from it
  };

  std::map<Place, Lane> lanes_;  // by the place before the lane's first
  std::uint64_t uses_ = 0;
};

std::ostream& operator<<(std::ostream& out, const Watermarks::Range& range);

}  // namespace dogged::runtime
