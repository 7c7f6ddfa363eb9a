// The series of one family of metrics: a bounded map from label values, which are text from outside, to their cells.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <functional>
#include <new>
#include <string>
#include <string_view>
#include <unordered_map>

#include <dogged/detail/mutex.hpp>
#include <dogged/metrics.hpp>

#include "text/utf8.hpp"

namespace dogged {

inline constexpr std::string_view other_label = "other";

/// In place of a value that a series does not have: its label is left out. A text from outside with a NUL is no label.
inline constexpr std::string_view no_label{"\0none", 5};

/// 1 to 128 bytes of UTF-8 without NUL.
[[nodiscard]] constexpr bool is_valid_label(std::string_view value) noexcept {
  if (value.empty() || value.size() > limits::metric_label_bytes) return false;
  while (!value.empty()) {
    const std::size_t length = utf8_sequence(value);
    if (length == 0) return false;
    value.remove_prefix(length);
  }
  return true;
}

/// For MetricSeries::MostOfLast: so many error codes of a task are told apart.
inline constexpr std::size_t most_error_codes = 100;

/// Cells are atomics: they are found under a shared lock, stay where they are and are changed without one.
///
/// Of labels without room for a series of their own, the last one becomes `other` first. An error code is the last
/// label, so that codes made of ids do not hide the names of tasks. There is room for limits::metric_series series. At
/// most MostOfLast of these differ in the last label alone. Series with `other` or nothing as the last label have as
/// much room again, of their own.
template <std::size_t LabelCount, class Cell, std::size_t MostOfLast = limits::metric_series>
class MetricSeries {
 public:
  using Labels = std::array<std::string_view, LabelCount>;
  using Key = std::array<std::string, LabelCount>;

  /// The cell of these labels, made if there is room. Else the cell of the same labels with `other` as the last label,
  /// made if there is room. Else the cell with `other` for each label.
  [[nodiscard]] Cell& at(const Labels& labels) noexcept {
    if (Cell* cell = find(labels)) return *cell;
    try {
      return add(valid(labels));
    } catch (const std::bad_alloc&) {
      return other();
    }
  }

  /// Calls visit(const Key&, const Cell&) for each series, in no order. visit() must not use this object.
  template <class Visit>
  void for_each(Visit visit) const {
    const detail::ReadLock lock{mutex_};
    for (const auto& [key, cell] : series_) visit(key, cell);
    if (is_other_used_.load(std::memory_order_relaxed)) visit(key_of(all_other()), other_);
  }

 private:
  /// Takes views and keys alike, so that finding allocates nothing.
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(const auto& labels) const noexcept {
      std::size_t hash = 0;
      for (const std::string_view label : labels) hash = hash * 31 + std::hash<std::string_view>{}(label);
      return hash;
    }
  };
  struct Equal {
    using is_transparent = void;
    bool operator()(const auto& a, const auto& b) const noexcept { return std::equal(a.begin(), a.end(), b.begin()); }
  };

  static Labels all_other() noexcept {
    Labels labels;
    labels.fill(other_label);
    return labels;
  }
  static Labels without_last(Labels labels) noexcept {
    labels.back() = other_label;
    return labels;
  }
  static Labels valid(Labels labels) noexcept {
    for (std::string_view& label : labels) label = label == no_label || is_valid_label(label) ? label : other_label;
    return labels;
  }
  static Key key_of(const Labels& labels) {
    Key key;
    std::copy(labels.begin(), labels.end(), key.begin());
    return key;
  }

  Cell* find(const Labels& labels) noexcept {
    const detail::ReadLock lock{mutex_};
    const auto found = series_.find(labels);
    return found == series_.end() ? nullptr : &found->second;
  }

  Cell& add(const Labels& labels) {
    const detail::WriteLock lock{mutex_};
    for (const Labels& wanted : {labels, without_last(labels)}) {
      if (wanted == all_other()) break;
      const auto found = series_.find(wanted);
      if (found != series_.end()) return found->second;
      std::size_t* const count = room_for(wanted);
      if (count == nullptr) continue;
      Cell& cell = series_.try_emplace(key_of(wanted)).first->second;
      ++*count;
      return cell;
    }
    return other();
  }

  /// How many series already share the room of these labels; null: it is full.
  std::size_t* room_for(const Labels& labels) DOGGED_REQUIRES(mutex_) {
    if (labels.back() == other_label || labels.back() == no_label) {
      return without_last_ < limits::metric_series ? &without_last_ : nullptr;
    }
    if (series_.size() - without_last_ >= limits::metric_series) return nullptr;
    std::size_t& count = with_last_.try_emplace(key_of(without_last(labels))).first->second;
    return count < MostOfLast ? &count : nullptr;
  }

  Cell& other() noexcept {
    is_other_used_.store(true, std::memory_order_relaxed);
    return other_;
  }

  mutable detail::SharedMutex mutex_;
  std::unordered_map<Key, Cell, Hash, Equal> series_ DOGGED_GUARDED_BY(mutex_);  // its cells are not
  std::size_t without_last_ DOGGED_GUARDED_BY(mutex_) = 0;  // series whose last label is `other` or none
  std::unordered_map<Key, std::size_t, Hash, Equal> with_last_
      DOGGED_GUARDED_BY(mutex_);  // the other series, by the rest
  // Not in the map, so that it takes no memory when there is none.
  Cell other_{};
  std::atomic<bool> is_other_used_{false};
};

}  // namespace dogged
