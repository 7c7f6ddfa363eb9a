// See queues.hpp.
#include "claim/core/queues.hpp"

#include <algorithm>
#include <ostream>
#include <utility>

#include "base/invariant.hpp"

namespace dogged::runtime {
namespace {

void look_again_in(ServedQueues::Queue& queue) {
  if (queue.state == ServedQueues::State::drained) queue.state = ServedQueues::State::open;
  queue.watermarks.forget_claimed();
}

}  // namespace

ServedQueues::ServedQueues(const std::vector<std::string>& names) {
  for (const std::string& name : names) queues_.push_back({.name = name});
}

bool ServedQueues::any(State state) const noexcept {
  return std::any_of(queues_.begin(), queues_.end(), [state](const Queue& queue) { return queue.state == state; });
}

bool ServedQueues::all_paused() const noexcept {
  return std::all_of(queues_.begin(), queues_.end(), [](const Queue& queue) { return queue.state == State::paused; });
}

std::vector<QueueClaim> ServedQueues::claims(const std::vector<std::size_t>& demand) const {
  require_invariant(demand.size() == queues_.size(), "each queue has its demand");
  std::vector<QueueClaim> claims;
  for (std::size_t i = 0; i < queues_.size(); ++i) {
    const Queue& queue = queues_[i];
    if (queue.state != State::open || demand[i] == 0) continue;
    claims.push_back({.index = i,
                      .queue = queue.name,
                      .how_many = demand[i],
                      .ranges = queue.watermarks.ranges(),
                      .of_all = !queue.watermarks.passes_over_claimed()});
  }
  return claims;
}

std::vector<QueueClaim> ServedQueues::drained() const {
  std::vector<QueueClaim> claims;
  for (std::size_t i = 0; i < queues_.size(); ++i) {
    const Queue& queue = queues_[i];
    if (queue.state != State::drained) continue;
    Watermarks watermarks = queue.watermarks;
    watermarks.forget_claimed();
    claims.push_back({.index = i, .queue = queue.name, .ranges = watermarks.ranges()});
  }
  return claims;
}

std::vector<ServedQueues::Part> ServedQueues::unsettled(std::int64_t last_position, bool from_beginning) const {
  std::vector<Part> parts;
  for (std::size_t i = 0; i < queues_.size(); ++i) {
    Watermarks watermarks = queues_[i].watermarks;
    if (from_beginning) watermarks.forget_settled();
    for (const Watermarks::Range& range : watermarks.unsettled(last_position)) parts.push_back({i, range});
  }
  return parts;
}

bool ServedQueues::on_notified(std::string_view name) {
  bool is_for_it = false;
  for (Queue& queue : queues_) {
    if (queue.state == State::paused || (!name.empty() && queue.name != name)) continue;
    look_again_in(queue);
    is_for_it = true;
  }
  return is_for_it;
}

void ServedQueues::look_again() {
  for (Queue& queue : queues_) look_again_in(queue);
}

void ServedQueues::on_claimed(const QueueClaim& claim, const std::vector<Place>& places) {
  require_invariant(places.size() <= claim.how_many, "a claim gives no more places than it asks for");
  Queue& queue = queues_.at(claim.index);
  for (const Place place : places) queue.watermarks.note_claimed(place);
  if (places.size() >= claim.how_many) return;
  queue.watermarks.forget_claimed();
  if (claim.of_all) queue.state = State::drained;  // otherwise tasks that were passed over may be left
}

void ServedQueues::on_settled(const std::vector<Settled>& settled, bool from_beginning) {
  if (from_beginning) {
    for (Queue& queue : queues_) queue.watermarks.forget_settled();
  }
  for (const auto& [queue, upto] : settled) queues_.at(queue).watermarks.settle(upto);
  for (Queue& queue : queues_) queue.watermarks.forget_claimed();
}

void ServedQueues::set_paused(std::size_t queue, bool paused) {
  queues_.at(queue).state = paused ? State::paused : State::open;
  queues_[queue].holds_back = paused;
  queues_[queue].watermarks.forget_claimed();
}

std::vector<std::size_t> ServedQueues::take_newly_paused() {
  std::vector<std::size_t> paused;
  for (std::size_t i = 0; i < queues_.size(); ++i) {
    if (std::exchange(queues_[i].holds_back, false)) paused.push_back(i);
  }
  return paused;
}

void ServedQueues::forget_watermarks() {
  for (Queue& queue : queues_) queue.watermarks.forget();
}

std::string_view to_text(ServedQueues::State state) noexcept {
  switch (state) {
    case ServedQueues::State::open:
      return "open";
    case ServedQueues::State::drained:
      return "drained";
    case ServedQueues::State::paused:
      break;
  }
  return "paused";
}

std::ostream& operator<<(std::ostream& out, ServedQueues::State state) { return out << to_text(state); }

std::ostream& operator<<(std::ostream& out, const ServedQueues::Part& part) {
  return out << "queue " << part.queue << ' ' << part.range;
}

std::ostream& operator<<(std::ostream& out, const QueueClaim& claim) {
  out << claim.queue << ':' << claim.how_many << (claim.of_all ? "" : " of the free ones");
  for (const Watermarks::Range& range : claim.ranges) out << ' ' << range;
  return out;
}

}  // namespace dogged::runtime
