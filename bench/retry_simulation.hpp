// Two simulations for docs/retry.md: clients that failed together and come back, and calls to a service that is down
// for a while. The delays are dogged::next_delay's and the breaker is the library's state machine; time is a number.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <queue>
#include <random>
#include <tuple>
#include <vector>

#include <dogged/detail/circuit.hpp>
#include <dogged/policy.hpp>

namespace simulation {

/// All clients have failed at 0 and retry by the policy. The server is well again: it serves `served_per_second` and
/// refuses the rest at once. The server keeps the unused part of the last second, so that a burst of that size passes.
struct Herd {
  int clients = 1000;
  int served_per_second = 100;
  std::uint64_t seed = 1;
};

struct Request {
  std::int64_t at_ms;
  bool served;
};

/// A token bucket, in thousandths of a request: each millisecond brings `served_per_second` of them.
class Server {
 public:
  explicit Server(int served_per_second) : per_ms_(served_per_second), room_(1000L * served_per_second), left_(room_) {}

  [[nodiscard]] bool serve(std::int64_t now_ms) {
    left_ = std::min(room_, left_ + (now_ms - last_ms_) * per_ms_);
    last_ms_ = now_ms;
    if (left_ < 1000) return false;
    left_ -= 1000;
    return true;
  }

 private:
  std::int64_t per_ms_, room_, left_;
  std::int64_t last_ms_ = 0;
};

/// Of a generator whose numbers the standard fixes, and so the same everywhere; uniform in [0, 1).
inline double draw(std::mt19937_64& engine) { return static_cast<double>(engine() >> 11) * 0x1p-53; }

/// Every request, in the order of time. A client that has spent its retries gives up.
inline std::vector<Request> run(const Herd& herd, const dogged::RetryPolicy& policy) {
  using Due = std::tuple<std::int64_t, int, int>;  // at_ms, client, retry
  std::priority_queue<Due, std::vector<Due>, std::greater<>> due;
  std::mt19937_64 engine{herd.seed};
  const auto wait = [&](std::int64_t now_ms, int client, int retry) {
    if (const auto next = dogged::next_delay(policy, retry, draw(engine))) {
      due.emplace(now_ms + next->delay.count(), client, retry);
    }
  };
  Server server{herd.served_per_second};
  std::vector<Request> requests;
  for (int client = 0; client < herd.clients; ++client) wait(0, client, 1);
  while (!due.empty()) {
    const auto [now_ms, client, retry] = due.top();
    due.pop();
    requests.push_back({now_ms, server.serve(now_ms)});
    if (!requests.back().served) wait(now_ms, client, retry + 1);
  }
  return requests;
}

struct HerdFigures {
  std::ptrdiff_t served = 0;
  std::ptrdiff_t refused = 0;
  std::ptrdiff_t busiest = 0;  ///< most requests within busiest_window_ms
  std::int64_t last_served_ms = 0;
};
inline constexpr std::int64_t busiest_window_ms = 100;

inline HerdFigures figures(const std::vector<Request>& requests) {
  HerdFigures found;
  auto oldest = requests.begin();
  for (auto request = requests.begin(); request != requests.end(); ++request) {
    while (request->at_ms - oldest->at_ms >= busiest_window_ms) ++oldest;
    found.busiest = std::max(found.busiest, request - oldest + 1);
    ++(request->served ? found.served : found.refused);
    if (request->served) found.last_served_ms = request->at_ms;
  }
  return found;
}

/// A program calls a service at even distances. While the service is down, a call fails after `timeout_ms`.
struct Outage {
  std::int64_t end_ms = 120'000;
  std::int64_t call_every_ms = 50;
  std::int64_t down_from_ms = 20'000;
  std::int64_t down_until_ms = 75'000;
  std::int64_t answer_ms = 50;
  std::int64_t timeout_ms = 1000;

  [[nodiscard]] bool is_down(std::int64_t now_ms) const { return now_ms >= down_from_ms && now_ms < down_until_ms; }
};

enum class CallEnd { succeeded, failed, refused };
struct Call {
  std::int64_t at_ms;
  CallEnd end;
};

/// The breaker of the simulation: the state machine, and the reports that are under way.
class Breaker {
 public:
  explicit Breaker(const dogged::CircuitBreakerSettings& settings) : settings_(settings) {}

  [[nodiscard]] bool lets_through(std::int64_t now_ms) {
    using Kind = dogged::detail::CircuitEvent::Kind;
    while (!reports_.empty() && reports_.top().at_ms <= now_ms) {
      const Report report = reports_.top();
      reports_.pop();
      const Kind kind = report.is_failure ? Kind::failure : Kind::success;
      circuit_ = step(circuit_, settings_, {kind, report.generation}, report.at_ms).circuit;
    }
    const auto asked = step(circuit_, settings_, {Kind::ask}, now_ms);
    circuit_ = asked.circuit;
    return asked.decision.is_let_through;
  }
  /// Of the call that was let through last.
  void report_at(std::int64_t at_ms, bool is_failure) { reports_.push({at_ms, is_failure, circuit_.generation}); }

 private:
  struct Report {
    std::int64_t at_ms;
    bool is_failure;
    std::int64_t generation;
    friend bool operator<(const Report& a, const Report& b) { return a.at_ms > b.at_ms; }  // the soonest is on top
  };

  dogged::CircuitBreakerSettings settings_;
  dogged::detail::Circuit circuit_;
  std::priority_queue<Report> reports_;
};

/// Every call, in the order of time; `breaker` may be null.
inline std::vector<Call> run(const Outage& outage, Breaker* breaker) {
  std::vector<Call> calls;
  for (std::int64_t now_ms = 0; now_ms < outage.end_ms; now_ms += outage.call_every_ms) {
    if (breaker != nullptr && !breaker->lets_through(now_ms)) {
      calls.push_back({now_ms, CallEnd::refused});
      continue;
    }
    const bool fails = outage.is_down(now_ms);
    if (breaker != nullptr) breaker->report_at(now_ms + (fails ? outage.timeout_ms : outage.answer_ms), fails);
    calls.push_back({now_ms, fails ? CallEnd::failed : CallEnd::succeeded});
  }
  return calls;
}

struct OutageFigures {
  std::ptrdiff_t failed = 0;
  std::ptrdiff_t refused = 0;
  std::ptrdiff_t refused_needlessly = 0;  ///< while the service was well
};

inline OutageFigures figures(const Outage& outage, const std::vector<Call>& calls) {
  OutageFigures found;
  for (const Call& call : calls) {
    found.failed += call.end == CallEnd::failed;
    found.refused += call.end == CallEnd::refused;
    found.refused_needlessly += call.end == CallEnd::refused && !outage.is_down(call.at_ms);
  }
  return found;
}

}  // namespace simulation
