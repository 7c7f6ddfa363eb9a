// A list of JSON pointers (RFC 6901), as TaskOptions::redact takes it.
#pragma once

#include <array>
#include <cstddef>
#include <initializer_list>
#include <string_view>

namespace dogged {

namespace limits {
inline constexpr std::size_t json_pointer_bytes = 256;
}  // namespace limits

namespace detail {

/// Empty (the whole document), or tokens that each begin with a slash; within a token ~0 is ~ and ~1 is /.
constexpr bool is_valid_json_pointer(std::string_view pointer) noexcept {
  if (pointer.size() > limits::json_pointer_bytes || (!pointer.empty() && pointer.front() != '/')) return false;
  for (std::size_t i = 0; i < pointer.size(); ++i) {
    const auto byte = static_cast<unsigned char>(pointer[i]);
    if (byte < 0x20) return false;
    if (byte == '~' && (i + 1 == pointer.size() || (pointer[i + 1] != '0' && pointer[i + 1] != '1'))) return false;
  }
  return true;
}

}  // namespace detail

/// JSON pointers that fit in a constant: `{"/token", "/customer/card"}`. At most 16, which TASK_REGISTER checks:
/// further pointers are counted but not kept. The texts are not copied: they are literals, or live as long as the list.
class JsonPointers {
 public:
  static constexpr std::size_t max_size = 16;

  constexpr JsonPointers() noexcept = default;
  constexpr JsonPointers(std::initializer_list<std::string_view> list) noexcept {
    for (std::string_view pointer : list) push_back(pointer);
  }

  constexpr void push_back(std::string_view pointer) noexcept {
    if (size_ < max_size) pointers_[size_] = pointer;
    ++size_;
  }

  /// More than max_size if there were too many.
  [[nodiscard]] constexpr std::size_t size() const noexcept { return size_; }
  [[nodiscard]] constexpr bool empty() const noexcept { return size_ == 0; }
  [[nodiscard]] constexpr const std::string_view* begin() const noexcept { return pointers_.data(); }
  [[nodiscard]] constexpr const std::string_view* end() const noexcept {
    return pointers_.data() + (size_ < max_size ? size_ : max_size);
  }

  friend constexpr bool operator==(const JsonPointers&, const JsonPointers&) = default;

 private:
  std::array<std::string_view, max_size> pointers_{};
  std::size_t size_ = 0;
};

}  // namespace dogged
