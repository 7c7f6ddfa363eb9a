// Which rows a reading of the exporter asks for, so that each new row counts once although it becomes visible late.
//
// A row has the time at which its attempt ended, and becomes visible with its transaction. So a reading asks for rows
// that the snapshot of the reading before does not see. The time bounds the blocks that PostgreSQL reads:
//
// - Each reading asks for rows since the last mark, and a little before it. Most rows become visible within this
// overlap.
//   A mark is a reading that is kept.
// - Rows that become visible later are asked for once more, when their mark is as old as the look back.
//
// So PostgreSQL reads a row about twice. To ask at each scrape for the whole look back read it nine times (decision
// 0015).
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace dogged::cli::exporter {

/// Rows that became visible later than this after they ended wait for the look back.
inline constexpr std::chrono::microseconds look_back_overlap = std::chrono::seconds{5};
/// Readings that follow sooner share a mark, since each mark costs a statement.
inline constexpr std::chrono::microseconds between_marks = std::chrono::seconds{10};
/// Rows that ended earlier do not count, where the exporter or its connection was away for longer.
inline constexpr std::chrono::microseconds longest_gap = std::chrono::minutes{15};

/// A reading: its snapshot as PostgreSQL writes it, and the time on PostgreSQL's clock.
struct Mark {
  std::string snapshot;
  std::int64_t at_us = 0;

  bool operator==(const Mark&) const = default;
};

/// Rows that ended at after_us or later, before until_us if that is given, and that the snapshot does not see.
struct Unseen {
  std::string snapshot;
  std::int64_t after_us = 0;
  std::optional<std::int64_t> until_us;

  bool operator==(const Unseen&) const = default;
};

/// The readings of one kind of rows. A row counts once if it becomes visible within `back` after its end. Of later rows
/// some do not count. `back` is longer than the overlap. Not thread-safe.
class LookBack {
 public:
  /// What a reading at now_us asks for, the latest rows first. Before the first on_read: nothing.
  [[nodiscard]] std::vector<Unseen> next(std::int64_t now_us, std::chrono::microseconds back) const;

  /// A reading has counted what next(now.at_us, back) asked for.
  void on_read(Mark now, std::chrono::microseconds back);

  /// PostgreSQL broke the reading off because it took too long. The next reading would ask for even more, and so would
  /// each after it. So the rows that this reading saw do not count.
  void on_given_up(Mark now);

 private:
  [[nodiscard]] bool is_set_back(std::int64_t now_us) const;
  [[nodiscard]] std::size_t due(std::int64_t now_us, std::chrono::microseconds back) const;

  std::optional<Mark> last_;  ///< the last reading
  std::vector<Mark> marks_;   ///< whose rows are asked for once more, ascending; not empty after a reading
  std::optional<std::int64_t> asked_until_;  ///< rows before this have been asked for once more; none: nothing has
};

}  // namespace dogged::cli::exporter
