// Unique tasks: at most one task holds a unique key, and an enqueue meets the holder. docs/unique.md explains them.
//
//   inline constexpr dogged::Task<Reindex> reindex{
//       "reindex", {.unique = dogged::Unique{.by = {"/user"}, .while_ = dogged::UniqueWhile::pending}}};
//   const dogged::Enqueued enqueued = client.enqueue_unique(reindex, {.user = 42});
//
// Values; their functions are thread-safe.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <optional>
#include <string_view>

#include <dogged/delay.hpp>
#include <dogged/error.hpp>
#include <dogged/json_pointers.hpp>
#include <dogged/task_id.hpp>

namespace dogged {

namespace limits {
inline constexpr std::size_t unique_key_bytes = 512;
}  // namespace limits

/// How long a task holds its unique key. The values are those of the SQL type unique_while.
enum class UniqueWhile {
  pending,  ///< until its attempt begins, and again while it waits for a retry
  live,     ///< until it has ended
  kept,     ///< for Unique::period; without a period as long as the database keeps the task
};

/// The action of an enqueue if a task holds its unique key. The values are those of the SQL type unique_conflict. Only
/// a pending holder is changed: a running one is left as it is.
enum class OnConflict {
  keep,            ///< nothing
  refuse,          ///< throws UniqueConflict
  replace_args,    ///< gives the holder the new args
  merge_args,      ///< adds the new args to those of the holder: members of objects, elements of arrays
  reschedule,      ///< moves the first run of the holder to the time of this call
  debounce,        ///< reschedule and replace_args
  debounce_merge,  ///< reschedule and merge_args
};

[[nodiscard]] constexpr std::string_view to_text(UniqueWhile state) noexcept {
  constexpr std::array<std::string_view, 3> texts = {"pending", "live", "kept"};
  return texts[static_cast<std::size_t>(state)];
}

[[nodiscard]] constexpr std::string_view to_text(OnConflict conflict) noexcept {
  constexpr std::array<std::string_view, 7> texts = {"keep",       "refuse",   "replace_args",  "merge_args",
                                                     "reschedule", "debounce", "debounce_merge"};
  return texts[static_cast<std::size_t>(conflict)];
}

/// The rule by which a task is unique among the tasks of its name.
struct Unique {
  /// For `by`: the whole of the args, or only the task's name.
  static constexpr JsonPointers all_args{""};
  static constexpr JsonPointers no_args{};

  /// JSON pointers to the values of the args that the key covers, at most 16. A call whose args have no value there
  /// throws InvalidInput. EnqueueOptions::unique_key replaces it.
  JsonPointers by = all_args;
  /// The key is free this long after the task was enqueued, whatever the state of the task. More than 0. Unset: only
  /// the state counts.
  std::optional<milliseconds> period = {};
  /// The state in which a task holds the key.
  UniqueWhile while_ = UniqueWhile::live;
  /// The action of a call if a task holds the key.
  OnConflict on_conflict = OnConflict::keep;
  /// The first run is moved no further than this after the holder was enqueued. More than 0. Only with `reschedule`,
  /// `debounce` and `debounce_merge`, because nothing else moves the run. Unset: any number of calls may move it.
  std::optional<milliseconds> latest = {};

  friend constexpr bool operator==(const Unique&, const Unique&) = default;
};

/// The outcome of an enqueue of a unique task.
enum class EnqueueOutcome {
  enqueued,  ///< there is a new task
  existed,   ///< another task holds the key; nothing has changed
  updated,   ///< another task holds the key, and was changed as OnConflict says
};

[[nodiscard]] constexpr std::string_view to_text(EnqueueOutcome outcome) noexcept {
  constexpr std::array<std::string_view, 3> texts = {"enqueued", "existed", "updated"};
  return texts[static_cast<std::size_t>(outcome)];
}

/// The task of an enqueue: a new one, or the one that holds its unique key.
struct Enqueued {
  TaskId id = 0;
  EnqueueOutcome outcome = EnqueueOutcome::enqueued;

  [[nodiscard]] constexpr bool is_new() const noexcept { return outcome == EnqueueOutcome::enqueued; }
  friend constexpr bool operator==(const Enqueued&, const Enqueued&) = default;
};

/// With OnConflict::refuse: another task holds the unique key, and the message names the task. Nothing was enqueued.
/// sqlstate() is UN001, as in SQL.
class UniqueConflict : public DatabaseError {
 public:
  using DatabaseError::DatabaseError;
};

namespace detail {
/// Nothing but a call that moves the run has a latest time.
constexpr bool is_valid_latest(const Unique& unique) noexcept {
  return !unique.latest || unique.on_conflict == OnConflict::reschedule || unique.on_conflict == OnConflict::debounce ||
         unique.on_conflict == OnConflict::debounce_merge;
}

constexpr bool is_valid_unique(const Unique& unique) noexcept {
  if (unique.by.size() > JsonPointers::max_size) return false;
  for (const std::string_view pointer : unique.by) {
    if (!is_valid_json_pointer(pointer)) return false;
  }
  return (!unique.period || *unique.period > milliseconds{0}) && (!unique.latest || *unique.latest > milliseconds{0});
}
}  // namespace detail

}  // namespace dogged
