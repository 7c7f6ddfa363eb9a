// See database_url.hpp.
#include "client/database_url.hpp"

#include <cstdlib>
#include <fstream>
#include <system_error>

#include <sys/stat.h>
#include <unistd.h>

#include <dogged/error.hpp>

#include "db/conninfo.hpp"

namespace dogged {
namespace {

namespace fs = std::filesystem;

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

bool is_ours(const fs::path& file) {
  struct stat info {};
  return stat(file.c_str(), &info) == 0 && info.st_uid == geteuid();
}

std::string first_line(const fs::path& file) {
  std::ifstream stream{file};
  std::string line;
  std::getline(stream, line);
  return line;
}

std::optional<DatabaseUrl> of_dev_server() {
  std::error_code no_directory;
  const fs::path here = fs::current_path(no_directory);
  const auto directory = no_directory ? std::nullopt : dev::find_directory(here);
  if (!directory) return std::nullopt;
  const fs::path place = directory->parent_path();
  std::string url = first_line(*directory / dev::url_file);
  if (url.empty()) {
    throw InvalidInput("the dev server of " + place.string() + " is stopped, and no other database is named",
                       "start it with `dogged dev up` there, or give --database-url");
  }
  return DatabaseUrl{std::move(url), "the dev server of " + place.string(), true};
}

}  // namespace

std::optional<fs::path> dev::find_directory(const fs::path& start) {
  for (fs::path place = start;; place = place.parent_path()) {
    const fs::path directory = place / directory_name;
    if (is_ours(directory / url_file) || is_ours(directory / stopped_url_file)) return directory;
    if (place == place.parent_path()) return std::nullopt;
  }
}

DatabaseUrl find_database_url(const std::string& given) {
  if (!given.empty()) return {given, ""};
  if (std::string url = environment("DATABASE_URL"); !url.empty()) return {std::move(url), "DATABASE_URL"};
  for (const char* name : {"PGHOST", "PGHOSTADDR", "PGDATABASE", "PGSERVICE"}) {
    if (!environment(name).empty()) return {"", "libpq's PG* variables"};
  }
  if (auto found = of_dev_server()) return *std::move(found);
  throw InvalidInput(
      "no database is named: no URL is given, there is none of DATABASE_URL, PGHOST, PGHOSTADDR, PGDATABASE and "
      "PGSERVICE, and no dev server in this directory or above it",
      "`dogged dev up` starts a private PostgreSQL here; or give postgresql://user:password@host/name (DATABASE_URL, "
      "--database-url)");
}

void rethrow_with_source(const DatabaseUrl& database) {
  const std::string named = database.source.empty() ? "" : " (the database is named by " + database.source + ")";
  try {
    throw;
  } catch (const db::InvalidConninfo& error) {
    throw InvalidInput(error.message() + named, error.hint());
  } catch (const ConnectionError& error) {
    const std::string hint =
        database.is_dev_server ? "start " + database.source + " with `dogged dev up` there" : error.hint();
    throw ConnectionError(error.message() + named, hint, error.sqlstate());
  }
}

}  // namespace dogged
