// Properties that rapidcheck tries, and the values that they draw. A property asserts by RC_ASSERT and RC_PRE.
//
// Only property.cpp includes rapidcheck's templates. Each property and each drawn type once had templates of its own.
// The compiler then wrote 19,000 functions for a group of six files of unit/retry/. Now 8,700 remain.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <type_traits>
#include <vector>

#include <rapidcheck/Assertions.h>

#include "support/function_ref.hpp"

namespace dogged::test {

namespace drawing {
[[nodiscard]] std::int64_t any_in_range(std::int64_t least, std::int64_t end);
}

/// Whether `property` holds each time. If it does not, rapidcheck prints the smallest draws that break it, and a seed
/// that repeats them (RC_PARAMS="seed=…").
[[nodiscard]] bool holds(FunctionRef<void()> property);

/// Within a property: a text that is printed with the draws that break it.
void note(const std::string& text);

/// Within a property: a draw from `least` to below `end`. rapidcheck tries smaller ones when a property breaks.
template <std::signed_integral Number>
[[nodiscard]] Number any_in_range(std::type_identity_t<Number> least, Number end) {
  return static_cast<Number>(drawing::any_in_range(least, end));
}
[[nodiscard]] std::int64_t any_integer();
[[nodiscard]] std::int64_t any_integer_from_0();
[[nodiscard]] int any_int();
[[nodiscard]] double any_double();
[[nodiscard]] bool any_bool();
[[nodiscard]] unsigned char any_byte();
[[nodiscard]] std::string any_text();
[[nodiscard]] std::vector<char> any_chars();
[[nodiscard]] std::vector<unsigned char> any_bytes();

/// Within a property: 0 to below `count`, each as often. The number stays the same when rapidcheck tries smaller draws.
[[nodiscard]] std::size_t any_of(std::size_t count);

/// Within a property: one of `values`, each as often.
template <class Value>
[[nodiscard]] Value any_of(std::initializer_list<Value> values) {
  return values.begin()[any_of(values.size())];
}

}  // namespace dogged::test
