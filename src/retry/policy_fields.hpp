// The names and fields of the policies, one list for text and JSON. The list has each policy's name, its fields in the
// order of writing, and the required ones.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <variant>

#include <dogged/error.hpp>
#include <dogged/policy.hpp>

#include "text/message.hpp"

namespace dogged {

enum class Presence {
  required,
  optional,     ///< has a default
  of_one_form,  ///< belongs to one of Fixed's two forms; the rules say which fields go together
};

template <class Policy, class Value>
struct Field {
  std::string_view name;
  Value Policy::*member;
  Presence presence;

  [[nodiscard]] bool is_default(const Policy& policy) const { return policy.*member == Policy{}.*member; }
  /// Durations carry their unit in JSON.
  [[nodiscard]] std::string json_key() const {
    constexpr bool is_duration = std::is_same_v<Value, milliseconds> || std::is_same_v<Value, Intervals>;
    return std::string{name} + (is_duration ? "_ms" : "");
  }
};

template <class Policy, class Value>
Field(const char*, Value Policy::*, Presence) -> Field<Policy, Value>;  // Clang 14 does not deduce aggregates

template <class Policy>
struct Description;

template <>
struct Description<NoRetry> {
  static constexpr std::string_view name = "none";
  static constexpr std::tuple<> fields{};
};

template <>
struct Description<Fixed> {
  static constexpr std::string_view name = "fixed";
  static constexpr std::tuple fields{Field{"intervals", &Fixed::intervals, Presence::of_one_form},
                                     Field{"interval", &Fixed::interval, Presence::of_one_form},
                                     Field{"max_retries", &Fixed::max_retries, Presence::of_one_form},
                                     Field{"max_delay", &Fixed::max_delay, Presence::optional},
                                     Field{"jitter", &Fixed::jitter, Presence::optional}};
};

template <>
struct Description<Exponential> {
  static constexpr std::string_view name = "exponential";
  static constexpr std::tuple fields{Field{"base", &Exponential::base, Presence::required},
                                     Field{"multiplier", &Exponential::multiplier, Presence::optional},
                                     Field{"max_retries", &Exponential::max_retries, Presence::required},
                                     Field{"max_delay", &Exponential::max_delay, Presence::optional},
                                     Field{"jitter", &Exponential::jitter, Presence::optional}};
};

template <>
struct Description<Linear> {
  static constexpr std::string_view name = "linear";
  static constexpr std::tuple fields{Field{"initial", &Linear::initial, Presence::required},
                                     Field{"increment", &Linear::increment, Presence::required},
                                     Field{"max_retries", &Linear::max_retries, Presence::required},
                                     Field{"max_delay", &Linear::max_delay, Presence::optional},
                                     Field{"jitter", &Linear::jitter, Presence::optional}};
};

template <>
struct Description<Custom> {
  static constexpr std::string_view name = "custom";
  static constexpr std::tuple fields{Field{"name", &Custom::name, Presence::required},
                                     Field{"max_retries", &Custom::max_retries, Presence::required}};
};

template <class Policy, class Visitor>
void for_each_field(Visitor visit) {
  std::apply([&visit](const auto&... field) { (visit(field), ...); }, Description<Policy>::fields);
}

inline const std::array<RetryPolicy, std::variant_size_v<RetryPolicy>> unset_policies{NoRetry{}, Fixed{}, Exponential{},
                                                                                      Linear{}, Custom{}};

[[nodiscard]] inline std::string_view name_of(const RetryPolicy& policy) {
  return std::visit([]<class Policy>(const Policy&) { return Description<Policy>::name; }, policy);
}

[[nodiscard]] inline Words policy_names() {
  Words names;
  for (const RetryPolicy& policy : unset_policies) names.push_back(name_of(policy));
  return names;
}

/// The policy with this name, its fields unset. Throws InvalidPolicy, which names those there are.
[[nodiscard]] inline RetryPolicy unset_policy(std::string_view name) {
  for (const RetryPolicy& policy : unset_policies) {
    if (name_of(policy) == name) return policy;
  }
  const bool is_of_config = name == "no_retry";  // as a RetryConfig's JSON has it, and no spelling leads to `none`
  throw InvalidPolicy("policy", in_quotes(name) + " is not a policy" +
                                    suggestion(is_of_config ? Description<NoRetry>::name : name, policy_names()) +
                                    "; write " + alternatives(policy_names()));
}

/// Throws the InvalidPolicy of a max_retries out of its limits; wider than int, so that nothing is cut before
/// it is judged.
[[nodiscard]] int checked_max_retries(std::int64_t max_retries);

}  // namespace dogged
