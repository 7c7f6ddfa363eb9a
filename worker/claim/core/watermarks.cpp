// See watermarks.hpp.
#include "claim/core/watermarks.hpp"

#include <algorithm>
#include <limits>
#include <ostream>

namespace dogged::runtime {
namespace {

constexpr Place lane_size = Place{1} << 46;

constexpr Place beginning_of_lane(Place place) { return place & ~(lane_size - 1); }

}  // namespace

std::vector<Watermarks::Range> Watermarks::ranges() const {
  std::vector<Range> ranges;
  Place after = std::numeric_limits<Place>::min();
  for (const auto& [beginning, lane] : lanes_) {
    const Place passed = std::max(lane.settled, lane.claimed);
    if (passed == beginning) continue;
    ranges.push_back({after, beginning});
    after = passed;
  }
  ranges.push_back({after, std::numeric_limits<Place>::max()});
  return ranges;
}

void Watermarks::note_claimed(Place place) {
  const Place beginning = beginning_of_lane(place);
  Lane& lane = lanes_.try_emplace(beginning, Lane{beginning, beginning, 0}).first->second;
  lane.claimed = std::max(lane.claimed, place);
  lane.used = ++uses_;
  if (lanes_.size() <= max_lanes) return;
  lanes_.erase(std::min_element(lanes_.begin(), lanes_.end(),
                                [](const auto& a, const auto& b) { return a.second.used < b.second.used; }));
}

void Watermarks::forget_claimed() {
  for (auto& [beginning, lane] : lanes_) lane.claimed = beginning;
}

bool Watermarks::passes_over_claimed() const {
  return std::any_of(lanes_.begin(), lanes_.end(),
                     [](const auto& lane) { return lane.second.claimed > lane.second.settled; });
}

std::vector<Watermarks::Range> Watermarks::unsettled(std::int64_t last_position) const {
  std::vector<Range> parts;
  for (const auto& [beginning, lane] : lanes_) {
    const Place upto = beginning + last_position;
    if (upto > lane.settled) parts.push_back({lane.settled, upto});
  }
  return parts;
}

void Watermarks::settle(Place place) {
  const auto lane = lanes_.find(beginning_of_lane(place));
  if (lane != lanes_.end()) lane->second.settled = std::max(lane->second.settled, place);
}

void Watermarks::forget_settled() {
  for (auto& [beginning, lane] : lanes_) lane.settled = beginning;
}

void Watermarks::forget() { lanes_.clear(); }

std::ostream& operator<<(std::ostream& out, const Watermarks::Range& range) {
  return out << '(' << range.after << ", " << range.upto << ']';
}

}  // namespace dogged::runtime
