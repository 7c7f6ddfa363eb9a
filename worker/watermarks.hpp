// Where in a queue a claim has to look. Pure.
//
// The index of ready tasks keeps the entries of tasks that have ended for as long as some transaction could still see
// them. A claim that walked over them each time would become slower and slower while an old snapshot is held. It need
// not: in each lane places are given out in rising order, so what was once found to hold no ready task never will
// again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

namespace dogged::runtime {

/// A task's place in the order of claims: priority · 2^47 + position. The position is its id, or, if it became ready
/// later than it was enqueued, a later number from the same sequence; less 2^46 if it was given back and is to run
/// before others (dogged.place_in_front). A lane is the 2^46 places of one priority that have ids, or those in front of
/// them.
using Place = std::int64_t;

/// Of one queue.
class Watermarks {
 public:
  /// The places after `after`, up to and including `upto`.
  struct Range {
    Place after = 0;
    Place upto = 0;

    friend bool operator==(const Range&, const Range&) = default;
  };

  /// More lanes than this are not kept apart: those that were claimed from least recently are looked through again.
  static constexpr std::size_t max_lanes = 16;

  /// What may hold ready tasks, in order.
  [[nodiscard]] std::vector<Range> ranges() const;

  /// Everything up to `place` in its lane was claimed, or passed over because someone had it locked, or may have: it is
  /// not looked at again until forget_claimed().
  void note_claimed(Place place);
  void forget_claimed();
  [[nodiscard]] bool passes_over_claimed() const;

  /// The part of each lane that may be settled now, if the positions up to `last_position` have all been given out to
  /// transactions that have ended.
  [[nodiscard]] std::vector<Range> unsettled(std::int64_t last_position) const;
  /// In the lane of `place` no task is or will be ready up to it: it is not looked at again until it is forgotten.
  void settle(Place place);
  /// All lanes are to be settled from their beginnings.
  void forget_settled();
  void forget();

 private:
  struct Lane {
    Place settled = 0;  // up to this place, inclusive
    Place claimed = 0;
    std::uint64_t used = 0;  // when it was claimed from last
  };

  std::map<Place, Lane> lanes_;  // by the places before their first
  std::uint64_t uses_ = 0;
};

}  // namespace dogged::runtime
