// Error codes: one code (ErrorCode), lists of codes for auto_retry_for (ErrorCodes), and the kinds of errors
// (Category). <dogged/code_sets.hpp> has ready lists: codes::http_transient and others.
//
// All types here are literal, copyable values; their functions are thread-safe and allocate nothing.
#pragma once

#include <array>
#include <cstddef>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

#include <dogged/detail/names.hpp>

namespace dogged {

namespace mistake {
/// Named after the mistake, so that the compiler's "call to non-constexpr function" says it.
[[noreturn]] void an_error_code_is_1_to_64_of_A_to_Z_digits_underscore(std::string_view code);
}  // namespace mistake

/// Where an error comes from. `name`: names that belong to no other source, such as the base set and failures of
/// connections.
enum class CodeSource { name, http, sqlstate, curl, errno_number, grpc, aws, azure, mongodb, redis };

/// The kinds of errors: may a retry help?
enum class Category {
  transient,  ///< a retry may help
  throttled,  ///< a retry helps, but later: too much was asked for
  permanent,  ///< a retry does not help
  unknown,    ///< no table lists it
};

/// `transient`, `throttled`, `permanent` or `unknown`.
[[nodiscard]] constexpr std::string_view to_text(Category category) noexcept {
  constexpr std::array<std::string_view, 4> names = {"transient", "throttled", "permanent", "unknown"};
  return names[static_cast<std::size_t>(category)];
}

/// Transient or throttled.
[[nodiscard]] constexpr bool is_retryable(Category category) noexcept {
  return category == Category::transient || category == Category::throttled;
}

/// An error code with storage of its own: UPPER_SNAKE, 1 to 64 of A-Z 0-9 _ beginning with a letter. Any other text
/// is refused: in a constant by the compiler, at run time by InvalidInput.
class ErrorCode {
 public:
  constexpr ErrorCode(std::string_view code)
      DOGGED_REFUSE_IF_(!detail::is_valid_error_code(code),
                        "dogged: an error code is 1 to 64 of A-Z 0-9 _ beginning with a letter")
      : ErrorCode(code, Unchecked{}) {
    if (!detail::is_valid_error_code(code)) mistake::an_error_code_is_1_to_64_of_A_to_Z_digits_underscore(code);
  }
  constexpr ErrorCode(const char* code)
      DOGGED_REFUSE_IF_(!detail::is_valid_error_code(code),
                        "dogged: an error code is 1 to 64 of A-Z 0-9 _ beginning with a letter")
      : ErrorCode(std::string_view{code}) {}
  ErrorCode(const std::string& code) : ErrorCode(std::string_view{code}) {}

  /// None if the text is no error code.
  [[nodiscard]] static constexpr std::optional<ErrorCode> from_text(std::string_view text) noexcept {
    if (!detail::is_valid_error_code(text)) return std::nullopt;
    return ErrorCode{text, Unchecked{}};
  }

  [[nodiscard]] constexpr std::string_view view() const noexcept { return {text_.data(), size_}; }
  [[nodiscard]] std::string str() const { return std::string{view()}; }

  friend constexpr bool operator==(const ErrorCode& a, const ErrorCode& b) noexcept { return a.view() == b.view(); }

 private:
  struct Unchecked {};
  constexpr ErrorCode(std::string_view code, Unchecked) noexcept
      : size_(code.size() < limits::error_code_bytes ? code.size() : limits::error_code_bytes) {
    for (std::size_t i = 0; i < size_; ++i) text_[i] = code[i];
  }

  std::array<char, limits::error_code_bytes> text_{};
  std::size_t size_;
};

/// Different error codes that fit in a constant: `{"HTTP_429", "HTTP_503"}`, or `{"*"}` for all. At most 64, which
/// TASK_REGISTER checks: further codes are counted but not kept. A code that is there already is not added again. +
/// joins lists:
///
///   .auto_retry_for = dogged::codes::http_transient + dogged::codes::connect_transient + dogged::ErrorCodes{"MY_CODE"}
///
/// The texts are not copied: they are literals, or live as long as the list.
class ErrorCodes {
 public:
  static constexpr std::size_t max_size = 64;

  constexpr ErrorCodes() noexcept = default;
  constexpr ErrorCodes(std::initializer_list<std::string_view> list) noexcept {
    for (std::string_view code : list) add(code);
  }

  constexpr void add(std::string_view code) noexcept {
    if (contains(code)) return;
    if (size_ < max_size) codes_[size_] = code;
    ++size_;
  }

  /// More than max_size if there were too many.
  [[nodiscard]] constexpr std::size_t size() const noexcept { return size_; }
  [[nodiscard]] constexpr bool empty() const noexcept { return size_ == 0; }
  [[nodiscard]] constexpr bool contains(std::string_view code) const noexcept {
    for (std::string_view listed : *this) {
      if (listed == code) return true;
    }
    return false;
  }
  [[nodiscard]] constexpr const std::string_view* begin() const noexcept { return codes_.data(); }
  [[nodiscard]] constexpr const std::string_view* end() const noexcept { return codes_.data() + kept(); }

  friend constexpr ErrorCodes operator+(ErrorCodes left, const ErrorCodes& right) noexcept {
    for (std::string_view code : right) left.add(code);
    left.size_ += right.size_ - right.kept();
    return left;
  }

 private:
  [[nodiscard]] constexpr std::size_t kept() const noexcept { return size_ < max_size ? size_ : max_size; }

  std::array<std::string_view, max_size> codes_{};
  std::size_t size_ = 0;
};

}  // namespace dogged
