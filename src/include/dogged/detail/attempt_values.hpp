// Values by their type, of one attempt: Context::local.
#pragma once

#include <memory>
#include <typeindex>
#include <utility>
#include <vector>

namespace dogged::detail {

/// Not thread-safe.
class AttemptValues {
 public:
  AttemptValues() = default;
  ~AttemptValues() {
    while (!values_.empty()) values_.pop_back();  // a vector destroys its first element first
  }
  AttemptValues(const AttemptValues&) = delete;
  AttemptValues& operator=(const AttemptValues&) = delete;

  template <class T>
  [[nodiscard]] T& get() {
    for (const auto& [type, value] : values_) {
      if (type == typeid(T)) return *static_cast<T*>(value.get());
    }
    values_.emplace_back(typeid(T), std::make_shared<T>());
    return *static_cast<T*>(values_.back().second.get());
  }

 private:
  std::vector<std::pair<std::type_index, std::shared_ptr<void>>> values_;  // a few: a walk is faster than a map
};

}  // namespace dogged::detail
