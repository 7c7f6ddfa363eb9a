// How the compiler names a mistake in a constant: as the arguments of an undefined template. GCC and Clang print them
// in the first line of their message:
//
//   Refused<dogged::mistake::Policy::max_retries_is_not_between_1_and_20, Given<2>{"25"}>
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>

#include <dogged/detail/names.hpp>

namespace dogged {

namespace mistake {

/// The given value, as text.
template <std::size_t size>
struct Given {
  char text[size + 1];
};

/// Never defined. `rule` is the rule that is broken.
template <auto rule, auto... given>
struct Refused;

}  // namespace mistake

namespace detail {

struct Accepted {};

/// A value for the compiler to print, cut to the longest name.
struct ShownValue {
  bool is_shown = true;
  std::size_t size = 0;
  std::array<char, limits::name_bytes + 1> text{};  // ends with a NUL

  constexpr void add(std::string_view more) {
    for (char c : more.substr(0, limits::name_bytes - size)) text[size++] = c;
  }
  constexpr void add(std::uint64_t number) {
    if (number > 9) add(number / 10);
    const char digit = static_cast<char>('0' + number % 10);
    add(std::string_view{&digit, 1});
  }
};

constexpr ShownValue shown(std::monostate) { return {.is_shown = false}; }

constexpr ShownValue shown(std::string_view text) {
  ShownValue value;
  value.add(text);
  return value;
}

constexpr ShownValue shown(std::int64_t number) {
  ShownValue value;
  if (number < 0) value.add("-");
  value.add(number < 0 ? ~static_cast<std::uint64_t>(number) + 1 : static_cast<std::uint64_t>(number));
  return value;
}

/// In the largest unit of which it is a whole number.
constexpr ShownValue shown(std::chrono::milliseconds delay) {
  struct Unit {
    std::int64_t milliseconds;
    std::string_view name;
  };
  for (const Unit unit : {Unit{3'600'000, "h"}, Unit{60'000, "min"}, Unit{1000, "s"}}) {
    if (delay.count() != 0 && delay.count() % unit.milliseconds == 0) {
      ShownValue value = shown(delay.count() / unit.milliseconds);
      value.add(unit.name);
      return value;
    }
  }
  ShownValue value = shown(delay.count());
  value.add("ms");
  return value;
}

/// With six decimals. NaN is asked first, because GCC does not order a NaN in a constant expression.
constexpr ShownValue shown(double number) {
  if (number != number) return shown(std::string_view{"NaN"});
  if (number < -1e9 || number > 1e9) return shown(std::string_view{"beyond 1e9"});
  const std::uint64_t millionths = static_cast<std::uint64_t>((number < 0 ? -number : number) * 1e6 + 0.5);
  ShownValue value;
  if (number < 0) value.add("-");
  value.add(millionths / 1'000'000);
  if (millionths % 1'000'000 != 0) value.add(".");
  for (std::uint64_t rest = millionths % 1'000'000; rest != 0; rest = rest * 10 % 1'000'000) {
    value.add(rest / 100'000);
  }
  return value;
}

template <std::size_t size>
constexpr mistake::Given<size> given(const ShownValue& value) {
  mistake::Given<size> copy{};
  for (std::size_t i = 0; i <= size; ++i)
    copy.text[i] = value.text[i];  // the NUL too, without which Clang prints numbers
  return copy;
}

template <auto rule, ShownValue value, std::size_t... i>
constexpr auto refuse(std::index_sequence<i...>) {
  if constexpr (!value.is_shown) {
    return static_cast<mistake::Refused<rule>*>(nullptr);
  } else {
#if defined(__clang__) && __clang_major__ < 15
    // The compiler prints arrays of characters as numbers, and single characters as such.
    return static_cast<mistake::Refused<rule, value.text[i]...>*>(nullptr);
#else
    return static_cast<mistake::Refused<rule, given<value.size>(value)>*>(nullptr);
#endif
  }
}

/// A pointer, to a type that the compiler names where its size is asked, if there is a mistake. `find` gives the first
/// mistake of `subject`: an std::optional of a struct with a rule and a value. The value is a variant of the types that
/// shown() takes.
template <auto find, const auto& subject>
constexpr auto judge() {
  constexpr auto found = find(subject);
  if constexpr (found) {
    constexpr ShownValue value = std::visit([](auto one) { return shown(one); }, found->value);
    return refuse<found->rule, value>(std::make_index_sequence<value.size>{});
  } else {
    return static_cast<Accepted*>(nullptr);
  }
}

}  // namespace detail
}  // namespace dogged
