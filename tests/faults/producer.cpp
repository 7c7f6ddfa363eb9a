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
  const auto started = std::chrono::steady_clock::now();
  std::int64_t next_key = 1;
  while (!stop.stop_requested()) {
    const auto elapsed =
        std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() - started);
    const std::int64_t due = elapsed.count() * settings_.tasks_per_second / 1000;
    if (due >= next_key) enqueue(std::exchange(next_key, due + 1), due);
    std::this_thread::sleep_for(tick);
  }
}

void Producer::enqueue(std::int64_t first, std::int64_t last) {
  std::vector<NewTask> tasks;
  for (std::int64_t key = first; key <= last; ++key) tasks.push_back(planned_task(settings_.seed, key));
  try {
    if (!client_) client_.emplace(settings_.url);
    std::int64_t key = first;
    for (TaskId id : client_->enqueue_many(tasks)) enqueued_[key++] = id;
  } catch (const DatabaseError&) {  // it may have been done, and is not tried again
    for (std::int64_t key = first; key <= last; ++key) in_doubt_.push_back(key);
  }
}

}  // namespace dogged::faults
