// A task that imports a large file of lines "ID,NAME" into the table people (id bigint primary key, name text).
#pragma once

#include <cstdint>
#include <string>

#include <nlohmann/json.hpp>

#include <dogged/task.hpp>

struct Import {
  std::string path;
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Import, path)

inline constexpr dogged::Task<Import, std::int64_t> import_people{"people.import", {.queue = "imports"}};

/// Gives the number of lines. Stops at a shutdown after at most lines_at_once more lines, and the next attempt goes on
/// there. Throws dogged::TaskError with FILE_MISSING or BAD_LINE.
std::int64_t import_file(dogged::Context& ctx, const Import& args);

inline constexpr int lines_at_once = 1000;
