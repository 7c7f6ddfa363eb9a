// The rules for names and codes, one place for compile time and run time.
#pragma once

#include <cstddef>
#include <string_view>

// On a constructor whose argument breaks a rule: has Clang say so in the first line, where the argument is a constant.
// (GCC's first line names the function that the constructor calls.)
#ifdef __clang__
#define DOGGED_REFUSE_IF_(condition, sentence)                                          \
  _Pragma("clang diagnostic push") _Pragma("clang diagnostic ignored \"-Wgcc-compat\"") \
      __attribute__((diagnose_if(condition, sentence, "error"))) _Pragma("clang diagnostic pop")
#else
#define DOGGED_REFUSE_IF_(condition, sentence)
#endif

namespace dogged {

namespace limits {
inline constexpr std::size_t name_bytes = 128;  ///< task names and queue names
inline constexpr std::size_t error_code_bytes = 64;
}  // namespace limits

/// The codes that dogged itself gives to attempts.
namespace codes {
inline constexpr std::string_view unhandled_exception = "UNHANDLED_EXCEPTION";  ///< not a TaskError
inline constexpr std::string_view timeout = "TIMEOUT";                          ///< past its deadline
inline constexpr std::string_view worker_lost = "WORKER_LOST";                  ///< its worker died
inline constexpr std::string_view invalid_args = "INVALID_ARGS";                ///< args do not fit the payload type
inline constexpr std::string_view invalid_result = "INVALID_RESULT";            ///< the result cannot be stored as JSON
inline constexpr std::string_view not_committed = "NOT_COMMITTED";              ///< complete_in, and no commit after it
inline constexpr std::string_view snoozed_too_often = "SNOOZED_TOO_OFTEN";      ///< more often than max_snoozes
inline constexpr std::string_view invalid_step = "INVALID_STEP";                ///< its name, or what it gives
inline constexpr std::string_view cancelled = "CANCELLED";
inline constexpr std::string_view expired = "EXPIRED";
inline constexpr std::string_view any = "*";  ///< in auto_retry_for: every code
}  // namespace codes

namespace detail {

constexpr bool is_letter_or_digit(char c) noexcept {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

/// Task and queue names: 1 to 128 of A-Z a-z 0-9 . _ : / -, the first a letter or a digit.
constexpr bool is_valid_name(std::string_view name) noexcept {
  if (name.empty() || name.size() > limits::name_bytes || !is_letter_or_digit(name.front())) return false;
  for (char c : name) {
    if (!is_letter_or_digit(c) && std::string_view{"._:/-"}.find(c) == std::string_view::npos) return false;
  }
  return true;
}

/// Error codes: UPPER_SNAKE, 1 to 64 of A-Z 0-9 _, the first a letter.
constexpr bool is_valid_error_code(std::string_view code) noexcept {
  if (code.empty() || code.size() > limits::error_code_bytes) return false;
  if (code.front() < 'A' || code.front() > 'Z') return false;
  for (char c : code) {
    if (!(c >= 'A' && c <= 'Z') && !(c >= '0' && c <= '9') && c != '_') return false;
  }
  return true;
}

}  // namespace detail
}  // namespace dogged
