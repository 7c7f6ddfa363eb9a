// Results that hold a value or an error, such as std::expected of C++23 and tl::expected.
#pragma once

#include <concepts>
#include <type_traits>
#include <utility>

namespace dogged::detail {

/// has_value(), *result and error().
template <class Result>
concept ExpectedLike = requires(Result& result) {
  { result.has_value() } -> std::convertible_to<bool>;
  *result;
  result.error();
};

}  // namespace dogged::detail
