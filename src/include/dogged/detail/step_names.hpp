// The parts of Context::step that do not depend on who runs the handler.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <string_view>

#include <dogged/detail/cut_for_message.hpp>
#include <dogged/detail/mutex.hpp>
#include <dogged/detail/names.hpp>

namespace dogged {

namespace limits {
inline constexpr std::size_t max_steps = 10'000;  ///< of a task
}

namespace detail {

/// The names of the steps that an attempt has begun. Thread-safe.
class StepNames {
 public:
  /// A step in a transaction may begin again, because the transaction may have been rolled back. The database refuses
  /// it if it is on record.
  enum class Kind { step, in_transaction };

  /// Why the step must not begin; empty if it may.
  [[nodiscard]] std::string begin(std::string_view name, Kind kind) {
    if (!is_valid_name(name)) {
      return "the name \"" + cut_for_message(name) +
             "\" of a step is not 1 to 128 of A-Z a-z 0-9 . _ : / - beginning with a letter or a digit";
    }
    const Lock lock{mutex_};
    if (const auto used = names_.find(name); used != names_.end()) {
      if (kind == Kind::in_transaction && used->second == kind) return {};
      return "the step \"" + std::string{name} +
             "\" was used before in this attempt; each step of a task has a name of its own";
    }
    if (names_.size() == limits::max_steps) {
      return "the step \"" + std::string{name} + "\" is one more than the " + std::to_string(limits::max_steps) +
             " that a task may have";
    }
    names_.emplace(name, kind);
    return {};
  }

  /// The step has thrown, and the attempt may try it again.
  void take_back(std::string_view name) {
    const Lock lock{mutex_};
    if (const auto used = names_.find(name); used != names_.end()) names_.erase(used);
  }

 private:
  Mutex mutex_;
  std::map<std::string, Kind, std::less<>> names_ DOGGED_GUARDED_BY(mutex_);
};

}  // namespace detail
}  // namespace dogged
