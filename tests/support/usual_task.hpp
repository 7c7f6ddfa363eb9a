// The task that many tests run, and what its handlers and workers are like.
#pragma once

#include <chrono>
#include <stop_token>

#include <nlohmann/json.hpp>

#include "support/test_database.hpp"

namespace dogged::test {

inline constexpr Task<nlohmann::json> work{"work"};
inline constexpr Task<nlohmann::json> other_work{"other"};
inline const nlohmann::json no_args = nlohmann::json::object();

/// A task whose handler returns at once.
template <class Key>
[[nodiscard]] detail::RegisteredTask does_nothing(const Key& key, const TaskOptions& options = {}) {
  return registered(
      key, [](Context&, const nlohmann::json&) {}, options);
}
[[nodiscard]] inline detail::RegisteredTask does_nothing(const TaskOptions& options = {}) {
  return does_nothing(work, options);
}

/// So that what a test waits for comes by being woken or not at all.
[[nodiscard]] inline runtime::WorkerSettings no_polling() { return {.poll_interval = std::chrono::minutes{10}}; }

/// In a handler: until its stop token is set, at most 20 s; whether it was.
inline bool wait_for_stop_token(Context& context) {
  Gate gate;
  const std::stop_callback open{context.stop_token(), [&] { gate.open(); }};
  gate.wait();
  return context.stop_token().stop_requested();
}

}  // namespace dogged::test
