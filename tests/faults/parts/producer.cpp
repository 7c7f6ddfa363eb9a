// See producer.hpp.
#include "producer.hpp"

#include <utility>

#include "schedule.hpp"

namespace dogged::faults {
namespace {

constexpr std::chrono::milliseconds tick{5};

}  // namespace

Producer::Producer(Settings settings)
    : settings_(std::move(settings)), thread_([this](const std::stop_token& stop) {
        try {
          run(stop);
        } catch (...) {
          error_ = std::current_exception();
        }
      }) {}

void Producer::stop() {
  thread_.request_stop();
  if (thread_.joinable()) thread_.join();
  if (error_) std::rethrow_exception(error_);
}

void Producer::run(const std::stop_token& stop) {
  const auto started = Clock::now();
  std::int64_t next_key = 1;
  while (!stop.stop_requested()) {
    const auto elapsed = std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - started);
    const std::int64_t due = elapsed.count() * settings_.tasks_per_second / 1000;
    if (due >= next_key) enqueue(std::exchange(next_key, due + 1), due);
    emit_due_events();
    std::this_thread::sleep_for(tick);
  }
}

void Producer::enqueue(std::int64_t first, std::int64_t last) {
  std::vector<NewTask> tasks;
  for (std::int64_t key = first; key <= last; ++key) tasks.push_back(planned_task(settings_.seed, key));
  try {
    if (!client_) client_.emplace(settings_.url);
    const std::vector<Enqueued> enqueued = client_->enqueue_many_unique(tasks);
    for (std::size_t i = 0; i < tasks.size(); ++i) note(first + static_cast<std::int64_t>(i), tasks[i], enqueued[i]);
  } catch (const DatabaseError&) {  // it may have been done, and is not tried again
    for (std::int64_t key = first; key <= last; ++key) in_doubt_.push_back(key);
  }
}

void Producer::note(std::int64_t key, const NewTask& task, const Enqueued& enqueued) {
  if (enqueued.is_new()) {
    enqueued_[key] = enqueued.id;
  } else {
    met_[key] = {enqueued.id, task.options.unique_key};
  }
  if (const auto after = event_after(task)) {
    events_.emplace(Clock::now() + *after, nlohmann::json::parse(task.args_json).get<Plan>().event);
  }
}

/// An event that does not get through is missed: the task waits until its time is over.
void Producer::emit_due_events() {
  while (!events_.empty() && events_.begin()->first <= Clock::now()) {
    const std::string event = events_.extract(events_.begin()).mapped();
    try {
      client_->emit(event);
    } catch (const DatabaseError&) {
    }
  }
}

}  // namespace dogged::faults
