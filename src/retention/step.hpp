// The steps of a round of retention, and their outcomes.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <optional>
#include <string>
#include <string_view>

namespace dogged::retention {

enum class Outcome {
  dropped,    ///< a day
  thinned,    ///< rows that stayed when their day was dropped
  forgotten,  ///< rows that no other row needs
  postponed,  ///< not done: the table was in use for longer than 200 ms
  busy,       ///< not done: another session has locked the partitions
};

struct Step {
  std::string what;  ///< a partition, or its table if none could be named; otherwise the kind of the rows forgotten
  Outcome outcome = Outcome::dropped;
  /// Rows that stay of a dropped or thinned day: tasks of queues that are kept longer, and attempts of tasks that still
  /// exist. Of a step `forgotten`: how many rows were.
  std::optional<std::int64_t> rows = {};
  bool is_thinning = false;  ///< of the rows that stayed when their day was dropped

  [[nodiscard]] bool is_done() const noexcept { return outcome != Outcome::postponed && outcome != Outcome::busy; }
};

enum class Extent {
  days,        ///< days that are due; the rest only if there was one
  everything,  ///< also rows of dropped days that need not stay any more, and rows that no other row needs
};

[[nodiscard]] std::string_view to_text(Outcome outcome) noexcept;
std::ostream& operator<<(std::ostream& out, Outcome outcome);

}  // namespace dogged::retention
