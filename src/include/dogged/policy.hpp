// Retry policies: pure values and pure functions, usable without a database.
//
//   dogged::RetryPolicy policy = dogged::Exponential{.base = 30s, .max_retries = 5, .max_delay = 1h};
//   auto delay = dogged::next_delay(policy, /*retry=*/1, /*draw=*/0.5);   // 30 s, of 22.5 to 37.5 s
//
// A policy answers one question: how long is the delay before retry n (1, 2, …)? The policy computes each delay by its
// formula, cuts the delay at `max_delay`, and then jitters it. No delay exceeds `max_delay`.
//
// All types here are literal, copyable values and all functions are thread-safe: they hold no state. The
// random draw is an argument, so that tests are exact.
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include <dogged/delay.hpp>
#include <dogged/policy_fwd.hpp>

namespace dogged {

/// Limits of every policy, with those of its delays in <dogged/delay.hpp>. A value out of them is refused when the
/// policy is made: in TASK_REGISTER at compile time, elsewhere by InvalidPolicy (<dogged/error.hpp>).
namespace limits {
inline constexpr int max_retries = 20;
inline constexpr double min_multiplier = 1.0;
inline constexpr double max_multiplier = 100.0;
}  // namespace limits

/// How a delay d is spread, so that tasks that failed together do not return together. The default of every policy
/// is proportional(0.25). Full jitter is defined in "Exponential Backoff And Jitter",
/// https://aws.amazon.com/blogs/architecture/exponential-backoff-and-jitter/.
class Jitter {
 public:
  enum class Kind { none, proportional, absolute, full };

  /// Exactly d.
  static constexpr Jitter none() noexcept { return {Kind::none, 0.0, milliseconds{0}}; }
  /// Uniform in [d·(1 − proportion), d·(1 + proportion)]; proportion in (0, 1].
  static constexpr Jitter proportional(double proportion) noexcept {
    return {Kind::proportional, proportion, milliseconds{0}};
  }
  /// Uniform in [d − amount, d + amount], and at least 1 ms; amount 1 ms to 24 h.
  static constexpr Jitter absolute(milliseconds amount) noexcept { return {Kind::absolute, 0.0, amount}; }
  /// Uniform in [1 ms, d].
  static constexpr Jitter full() noexcept { return {Kind::full, 0.0, milliseconds{0}}; }

  [[nodiscard]] constexpr Kind kind() const noexcept { return kind_; }
  [[nodiscard]] constexpr double proportion() const noexcept { return proportion_; }
  [[nodiscard]] constexpr milliseconds amount() const noexcept { return amount_; }

  friend constexpr bool operator==(const Jitter&, const Jitter&) = default;

 private:
  constexpr Jitter(Kind kind, double proportion, milliseconds amount) noexcept
      : kind_(kind), proportion_(proportion), amount_(amount) {}

  Kind kind_;
  double proportion_;
  milliseconds amount_;
};

/// A short list of intervals that fits in a constant: `{60s, 300s, 900s}`. Beyond 20, intervals are counted but not
/// kept, so that validation can say how many there were.
class Intervals {
 public:
  constexpr Intervals() noexcept = default;
  constexpr Intervals(std::initializer_list<milliseconds> list) noexcept : size_(list.size()) {
    std::size_t i = 0;
    for (milliseconds interval : list) {
      if (i == values_.size()) break;
      values_[i++] = interval;
    }
  }

  constexpr void push_back(milliseconds interval) noexcept {
    if (size_ < values_.size()) values_[size_] = interval;
    ++size_;
  }
  [[nodiscard]] constexpr std::size_t size() const noexcept { return size_; }
  [[nodiscard]] constexpr bool empty() const noexcept { return size_ == 0; }
  [[nodiscard]] constexpr milliseconds operator[](std::size_t i) const noexcept { return values_[i]; }

  friend constexpr bool operator==(const Intervals&, const Intervals&) = default;

 private:
  std::array<milliseconds, limits::max_retries> values_{};
  std::size_t size_ = 0;
};

namespace detail {
/// The policy with one field changed.
template <class Policy, class Value>
constexpr Policy with(Policy policy, Value Policy::*field, Value value) noexcept {
  policy.*field = value;
  return policy;
}
}  // namespace detail

/// Never retried.
struct NoRetry {
  friend constexpr bool operator==(const NoRetry&, const NoRetry&) = default;
};

/// Either `.intervals`, whose length is the number of retries, or one `.interval` repeated `.max_retries`
/// times.
struct Fixed {
  Intervals intervals{};
  milliseconds interval{0};
  int max_retries = 0;
  milliseconds max_delay = limits::max_delay;
  Jitter jitter = Jitter::proportional(0.25);

  // Copies with one field changed; see fixed, linear and exponential below.
  [[nodiscard]] constexpr Fixed with_max_retries(int count) const noexcept {
    return detail::with(*this, &Fixed::max_retries, count);
  }
  [[nodiscard]] constexpr Fixed with_max_delay(milliseconds most) const noexcept {
    return detail::with(*this, &Fixed::max_delay, most);
  }
  [[nodiscard]] constexpr Fixed with_jitter(Jitter spread) const noexcept {
    return detail::with(*this, &Fixed::jitter, spread);
  }

  friend constexpr bool operator==(const Fixed&, const Fixed&) = default;
};

/// base · multiplier^(n−1).
struct Exponential {
  milliseconds base{0};
  double multiplier = 2.0;
  int max_retries = 0;
  milliseconds max_delay = limits::max_delay;
  Jitter jitter = Jitter::proportional(0.25);

  // Copies with one field changed; see fixed, linear and exponential below.
  [[nodiscard]] constexpr Exponential with_multiplier(double factor) const noexcept {
    return detail::with(*this, &Exponential::multiplier, factor);
  }
  [[nodiscard]] constexpr Exponential with_max_retries(int count) const noexcept {
    return detail::with(*this, &Exponential::max_retries, count);
  }
  [[nodiscard]] constexpr Exponential with_max_delay(milliseconds most) const noexcept {
    return detail::with(*this, &Exponential::max_delay, most);
  }
  [[nodiscard]] constexpr Exponential with_jitter(Jitter spread) const noexcept {
    return detail::with(*this, &Exponential::jitter, spread);
  }

  friend constexpr bool operator==(const Exponential&, const Exponential&) = default;
};

/// initial + increment · (n−1); an increment of 0 is allowed.
struct Linear {
  milliseconds initial{0};
  milliseconds increment{0};
  int max_retries = 0;
  milliseconds max_delay = limits::max_delay;
  Jitter jitter = Jitter::proportional(0.25);

  // Copies with one field changed; see fixed, linear and exponential below.
  [[nodiscard]] constexpr Linear with_max_retries(int count) const noexcept {
    return detail::with(*this, &Linear::max_retries, count);
  }
  [[nodiscard]] constexpr Linear with_max_delay(milliseconds most) const noexcept {
    return detail::with(*this, &Linear::max_delay, most);
  }
  [[nodiscard]] constexpr Linear with_jitter(Jitter spread) const noexcept {
    return detail::with(*this, &Linear::jitter, spread);
  }

  friend constexpr bool operator==(const Linear&, const Linear&) = default;
};

/// The name of a policy of one's own: 1 to 64 of A-Z a-z 0-9 . _ : / - beginning with a letter or a digit. Has storage
/// of its own. Of a longer name the size is kept, so that validation refuses it.
class PolicyName {
 public:
  static constexpr std::size_t max_size = 64;

  constexpr PolicyName() noexcept = default;
  constexpr PolicyName(std::string_view name) noexcept : size_(name.size()) {  // NOLINT
    for (std::size_t i = 0; i < name.size() && i < max_size; ++i) text_[i] = name[i];
  }
  constexpr PolicyName(const char* name) noexcept : PolicyName(std::string_view{name}) {}  // NOLINT

  [[nodiscard]] constexpr std::size_t size() const noexcept { return size_; }
  [[nodiscard]] constexpr std::string_view view() const noexcept {
    return {text_.data(), size_ < max_size ? size_ : max_size};
  }

  friend constexpr bool operator==(const PolicyName&, const PolicyName&) = default;

 private:
  std::array<char, max_size> text_{};
  std::size_t size_ = 0;
};

/// A function that the workers have registered under this name decides the delays (<dogged/custom_policy.hpp>). No
/// other program knows them. max_retries, the codes, circuits and budgets hold as with every policy.
struct Custom {
  PolicyName name{};
  int max_retries = 0;

  friend constexpr bool operator==(const Custom&, const Custom&) = default;
};

/// Retries of a policy that is built without with_max_retries: 5 attempts in all.
inline constexpr int default_max_retries = 4;
/// The first delay of exponential(), and its longest one without with_max_delay. A longer base is its own longest
/// delay.
inline constexpr milliseconds default_base{100};
inline constexpr milliseconds default_max_delay = std::chrono::minutes{5};

/// A policy in one expression, all of it constexpr. Limits are checked when the policy is used, as with designated
/// initialisers. The defaults here are for calls in this process; a policy that a task's definition writes as
/// Exponential{…} has those of the struct. docs/retry.md has all of them in one table.
///
///   exponential()   // 5 attempts: 100 ms, doubled, at most 5 min, ± 25 %
///   exponential(1s).with_multiplier(3).with_max_delay(60s).with_max_retries(4).with_jitter(Jitter::full())
[[nodiscard]] constexpr Fixed fixed(milliseconds interval) noexcept {
  return Fixed{.interval = interval, .max_retries = default_max_retries};
}
[[nodiscard]] constexpr Linear linear(milliseconds initial, milliseconds increment) noexcept {
  return Linear{.initial = initial, .increment = increment, .max_retries = default_max_retries};
}
[[nodiscard]] constexpr Exponential exponential(milliseconds base = default_base) noexcept {
  return Exponential{.base = base, .max_retries = default_max_retries, .max_delay = std::max(base, default_max_delay)};
}

/// The policy of a task that lists codes in auto_retry_for and names none: 60 s, 300 s, 900 s, ±25 %.
inline constexpr Fixed default_retry_policy{
    .intervals = {std::chrono::seconds{60}, std::chrono::seconds{300}, std::chrono::seconds{900}}};

/// Throws InvalidPolicy for the first field that is out of its limits (NaN included). A max_delay shorter than the
/// first delay is allowed: it cuts that delay. The functions below that take a policy, except max_retries, call this
/// function first.
void require_valid(const RetryPolicy& policy);

/// How many retries the policy allows: 0 for NoRetry, else 1 to 20.
[[nodiscard]] int max_retries(const RetryPolicy& policy) noexcept;

/// One delay: by the policy's formula and cut at max_delay (`backoff`), and with jitter (`delay`). Both are 1 ms to
/// 24 h.
struct RetryDelay {
  milliseconds backoff;
  milliseconds delay;

  friend constexpr bool operator==(const RetryDelay&, const RetryDelay&) = default;
};

/// The delay before retry `retry` = 1, 2, …; nothing if the policy has spent its retries. `draw` is uniform in [0,
/// 1): 0 gives the shortest delay of delay_range, 0.5 its middle, and each millisecond of the range is equally likely.
/// Throws InvalidPolicy, also for Custom, and InvalidInput for a retry below 1 or a draw that is not in [0, 1].
[[nodiscard]] std::optional<RetryDelay> next_delay(const RetryPolicy& policy, int retry, double draw);

/// The shortest and the longest delay of retry `retry` with jitter: whole milliseconds inside the jitter's bounds,
/// at least 1 ms, at most max_delay. If max_delay cuts the range, delays are drawn evenly from the rest. Moving longer
/// delays to max_delay would bring tasks that failed together back together.
struct DelayRange {
  milliseconds shortest;
  milliseconds backoff;
  milliseconds longest;

  friend constexpr bool operator==(const DelayRange&, const DelayRange&) = default;
};
[[nodiscard]] std::optional<DelayRange> delay_range(const RetryPolicy& policy, int retry);

/// One line that `policy_from_text` reads back: `exponential base=30s max_retries=5 max_delay=1h jitter=25%`. A
/// field at its default is left out, except jitter.
[[nodiscard]] std::string policy_to_text(const RetryPolicy& policy);

/// Reads `none`, `fixed intervals=60s,300s,900s`, `fixed interval=60s max_retries=5`,
/// `exponential base=30s max_retries=5 [multiplier=2] [max_delay=1h] [jitter=25%|none|full|50ms]`,
/// `linear initial=1s increment=5s max_retries=4 …`, `custom name=patient max_retries=8`. Durations: `250ms`, `30s`,
/// `5m`, `1h`, `1h30m`, `1.5s`. Throws InvalidPolicy, naming the word that it did not understand and what could stand
/// there.
[[nodiscard]] RetryPolicy policy_from_text(std::string_view text);

/// `{"policy":"exponential","base_ms":30000,"multiplier":2.0,"max_retries":5,"max_delay_ms":3600000,
///   "jitter":{"kind":"proportional","proportion":0.25}}`; `policy_from_json` reads this text back.
/// The function throws InvalidPolicy for text that is no JSON, an unknown key, a wrong type, or a missing field. A
/// value out of its limits is refused as well. `multiplier`, `max_delay_ms` and `jitter` may be missing: they have
/// defaults. Of fixed, one form is written: `intervals_ms`, or `interval_ms` and `max_retries`. As text, so that a
/// program may use nlohmann_json with any of its build options, or another library.
[[nodiscard]] std::string policy_to_json(const RetryPolicy& policy);
[[nodiscard]] RetryPolicy policy_from_json(std::string_view text);

}  // namespace dogged
