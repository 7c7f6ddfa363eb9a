// See executors.hpp.
#include "run/executors.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace dogged::runtime {

template <class Give>
auto Executors::joined(Give give) const {
  decltype(give(*all_.front())) all;
  for (const auto& executor : all_) {
    auto some = give(*executor);
    all.insert(all.end(), std::make_move_iterator(some.begin()), std::make_move_iterator(some.end()));
  }
  return all;
}

std::vector<std::string> Executors::queues() const {
  std::vector<std::string> names;
  for (const auto& executor : all_) names.push_back(executor->queue());
  return names;
}

bool Executors::holds_any() const {
  return std::any_of(all_.begin(), all_.end(), [](const auto& executor) { return executor->holds_any(); });
}

std::vector<Attempt> Executors::held() const {
  return joined([](const Executor& executor) { return executor.held(); });
}

std::vector<ClaimedTask> Executors::take_expired() {
  return joined([](Executor& executor) { return executor.take_expired(); });
}

std::vector<ClaimedTask> Executors::take_back() {
  return joined([](Executor& executor) { return executor.take_back(); });
}

std::vector<ClaimedTask> Executors::take_back_older_than(milliseconds age) {
  return joined([&](Executor& executor) { return executor.take_back_older_than(age); });
}

bool Executors::wait_idle(TimePoint until) {
  bool idle = true;
  for (const auto& executor : all_) idle = executor->wait_idle(until) && idle;
  return idle;
}

void Executors::stop_all(StopReason reason) {
  for (const auto& executor : all_) executor->stop_all(reason);
}

void Executors::cancel(TaskId id, int attempt) {
  for (const auto& executor : all_) executor->cancel(id, attempt);
}

TimePoint Executors::enforce_deadlines(TimePoint now) {
  TimePoint next = never;
  for (const auto& executor : all_) next = std::min(next, executor->enforce_deadlines(now));
  return next;
}

std::vector<Report> Executors::give_up_all() {
  return joined([](Executor& executor) { return executor.give_up_all(); });
}

}  // namespace dogged::runtime
