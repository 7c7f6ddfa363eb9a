// Which database a command, a worker or a producer uses.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

namespace dogged {

/// Where `dogged dev up` keeps the private server of a directory. The file `url` exists while the server is meant to
/// run, `url.stopped` after `dogged dev down`.
namespace dev {
inline constexpr const char* directory_name = ".dogged";
inline constexpr const char* url_file = "url";
inline constexpr const char* stopped_url_file = "url.stopped";

/// The nearest .dogged with one of these files, from `start` upward, as git finds its repository. A .dogged of another
/// user is ignored: it could send us, and the tasks that we enqueue, to that user's server.
[[nodiscard]] std::optional<std::filesystem::path> find_directory(const std::filesystem::path& start);
}  // namespace dev

struct DatabaseUrl {
  std::string url;     ///< for db::Settings::url; empty: libpq's PG* variables
  std::string source;  ///< where it came from, for messages: `DATABASE_URL`, …; empty: the caller gave it
  bool is_dev_server = false;
};

/// The first of: `given` (may be empty), DATABASE_URL, libpq's variables, and the dev server of the current directory
/// or one above it. The variables of libpq count if PGHOST, PGHOSTADDR, PGDATABASE or PGSERVICE is set. Throws
/// InvalidInput, which names these ways, if there is none.
[[nodiscard]] DatabaseUrl find_database_url(const std::string& given);

/// In a catch block: throws the error of a connection anew, with the source of the URL in its message, if there is one.
/// Other errors pass.
[[noreturn]] void rethrow_with_source(const DatabaseUrl& database);

}  // namespace dogged
