// A finding of `dogged doctor`: one statement on one thing, with its figures.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace dogged::cli::doctor {

enum class Level { ok, warning, critical };

[[nodiscard]] constexpr std::string_view to_text(Level level) {
  switch (level) {
    case Level::ok:
      return "ok";
    case Level::warning:
      return "warning";
    case Level::critical:
      return "critical";
  }
  return "ok";
}

struct Finding {
  std::string check;  ///< which check found it
  Level level = Level::ok;
  std::optional<std::string> subject;  ///< a table, a queue, a worker …; nothing for the whole database
  std::string seen;                    ///< with figures
  std::string why;                     ///< why it matters; empty if all is well
  std::string fix;                     ///< a command or SQL; empty if all is well
  std::vector<std::pair<std::string, std::int64_t>> figures{};
};

using Findings = std::vector<Finding>;

}  // namespace dogged::cli::doctor
