// Which rows a reading of the exporter asks for, so that each new row counts once although it becomes visible late.
//
// A row has the time at which its attempt ended, and becomes visible when its transaction commits. So a reading asks
// for rows that the snapshot of the reading before does not see. The time bounds the blocks that PostgreSQL reads.
// LookBack keeps some readings as marks:
//
// - Each reading asks for rows since five seconds before the last mark. Most rows become visible within that overlap.
// - When a mark is as old as the look back, a reading asks once more for the rows before that mark.
//
// With scrapes each 15 s or less often PostgreSQL so reads a row about twice. PostgreSQL read a row nine times when
// each scrape asked for the whole look back (decision 0015).
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace dogged::cli::exporter {

/// A row that becomes visible later than this after its end may wait for the look back.
inline constexpr std::chrono::microseconds look_back_overlap = std::chrono::seconds{5};
/// Readings that follow sooner share a mark, since each mark costs a statement.
inline constexpr std::chrono::microseconds between_marks = std::chrono::seconds{10};
/// A row does not count if no reading saw it by this time after its end: the exporter or its connection was away. Late
/// rows have the look back in addition.
inline constexpr std::chrono::microseconds longest_gap = std::chrono::minutes{15};

/// A reading: its snapshot as PostgreSQL writes it, and the time on PostgreSQL's clock.
struct Mark {
  std::string snapshot;
  std::int64_t at_us = 0;

  bool operator==(const Mark&) const = default;
};

/// Rows that ended at after_us or later, and before until_us if that is given. The snapshot does not see them.
struct Unseen {
  std::string snapshot;
  std::int64_t after_us = 0;
  std::optional<std::int64_t> until_us;

  bool operator==(const Unseen&) const = default;
};

/// The readings of one kind of rows. A row counts once if it becomes visible within `back` after its end. A later row
/// may not count, nor a late row if PostgreSQL's clock is set back meanwhile. `back` is longer than the overlap. Not
/// thread-safe.
class LookBack {
 public:
  /// The rows that a reading at now_us asks for, the latest first. Before the first on_read: none.
  [[nodiscard]] std::vector<Unseen> next(std::int64_t now_us, std::chrono::microseconds back) const;

  /// A reading has counted what next(now.at_us, back) asked for.
  void on_read(Mark now, std::chrono::microseconds back);

  /// PostgreSQL ended the reading because its time was over. The next reading would ask for even more rows, and each
  /// after it too. So no row counts that this reading's snapshot sees and no reading has counted.
  void on_given_up(Mark now);

 private:
  [[nodiscard]] bool is_set_back(std::int64_t now_us) const;
  [[nodiscard]] std::size_t due(std::int64_t now_us, std::chrono::microseconds back) const;

  std::optional<Mark> last_;                 ///< the last reading
  std::vector<Mark> marks_;                  ///< ascending; not empty after a reading
  std::optional<std::int64_t> asked_until_;  ///< the end of the rows that no mark needs any more
};

}  // namespace dogged::cli::exporter
