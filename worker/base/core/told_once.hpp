// Keeps a log from saying the same again and again. Pure.
#pragma once

#include <cstddef>
#include <set>
#include <string>
#include <utility>

namespace dogged::runtime {

/// Errors that differ in numbers alone are then one text. Processes, transactions and blocks differ each time an error
/// names them.
[[nodiscard]] inline std::string without_digits(std::string text) {
  std::erase_if(text, [](char c) { return c >= '0' && c <= '9'; });
  return text;
}

/// The texts that were told since the last forget().
class ToldOnce {
 public:
  /// After so many texts none is new: a log has no endless list, and the memory stays bounded.
  static constexpr std::size_t most = 1000;

  /// True if `text` is new, and so is to be told.
  [[nodiscard]] bool note(std::string text) { return texts_.size() < most && texts_.insert(std::move(text)).second; }
  void forget() noexcept { texts_.clear(); }

 private:
  std::set<std::string> texts_;
};

}  // namespace dogged::runtime
