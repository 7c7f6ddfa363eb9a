// Finds PostgreSQL's programs on this machine.
#include "private_server/pg_binaries.hpp"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <sstream>
#include <string>
#include <system_error>

#include <unistd.h>

#include <dogged/error.hpp>

#include "private_server/child_process.hpp"

namespace dogged::private_server {
namespace {

namespace fs = std::filesystem;

constexpr const char* own_variable = "DOGGED_PG_BIN";

struct UsualPlace {
  const char* parent;
  const char* prefix;  ///< of the directories in it, each for a version
};

constexpr UsualPlace usual_places[] = {
    {"/usr/lib/postgresql", ""},      {"/usr", "pgsql-"},      {"/opt/homebrew/opt", "postgresql"},
    {"/usr/local/opt", "postgresql"}, {"/usr/local", "pgsql"}, {"/usr/libexec", "postgresql"}};

bool is_program(const fs::path& file) { return access(file.c_str(), X_OK) == 0 && !fs::is_directory(file); }

bool is_complete(const fs::path& directory) {
  return is_program(directory / "initdb") && is_program(directory / "postgres") && is_program(directory / "pg_ctl");
}

/// The first number in a text: 15 in `postgres (PostgreSQL) 15.18` and in `postgresql@15`.
int first_number(const std::string& text) {
  const auto digit = std::find_if(text.begin(), text.end(), [](unsigned char c) { return std::isdigit(c) != 0; });
  return std::atoi(std::string{digit, text.end()}.c_str());
}

std::vector<fs::path> path_directories() {
  const char* path = std::getenv("PATH");
  std::istringstream stream{path == nullptr ? "" : path};
  std::vector<fs::path> directories;
  for (std::string directory; std::getline(stream, directory, ':');) {
    if (!directory.empty()) directories.emplace_back(directory);
  }
  return directories;
}

std::optional<fs::path> from_pg_config() {
  for (const fs::path& directory : path_directories()) {
    if (!is_program(directory / "pg_config")) continue;
    std::string output = run({.argv = {(directory / "pg_config").string(), "--bindir"}}).output;
    output.erase(output.find_last_not_of(" \n") + 1);
    return fs::path{output};
  }
  return std::nullopt;
}

/// Directories named after versions, the newest first.
std::vector<fs::path> versions_in(const UsualPlace& place) {
  std::vector<fs::path> found;
  std::error_code not_there;
  for (const auto& entry : fs::directory_iterator(place.parent, not_there)) {
    if (entry.path().filename().string().starts_with(place.prefix)) found.push_back(entry.path());
  }
  std::sort(found.begin(), found.end(), [](const fs::path& a, const fs::path& b) {
    return first_number(a.filename().string()) > first_number(b.filename().string());
  });
  return found;
}

std::vector<fs::path> directories_to_try() {
  std::vector<fs::path> directories;
  if (const auto directory = from_pg_config()) directories.push_back(*directory);
  for (const fs::path& directory : path_directories()) directories.push_back(directory);
  for (const UsualPlace& place : usual_places) {
    for (const fs::path& version : versions_in(place)) directories.push_back(version / "bin");
  }
  return directories;
}

int version_in(const fs::path& directory) {
  return first_number(run({.argv = {(directory / "postgres").string(), "--version"}}).output);
}

PgBinaries chosen_by_user(const std::string& directory, std::optional<int> major_version) {
  if (!is_complete(directory)) {
    throw InvalidInput(
        std::string{own_variable} + " is " + directory + ", where initdb, postgres and pg_ctl are not all found",
        "set it to the directory that holds them, or unset it");
  }
  const PgBinaries binaries{directory, version_in(directory)};
  if (major_version && binaries.major_version != *major_version) {
    throw Error("the data here is of PostgreSQL " + std::to_string(*major_version) + ", and " + own_variable + " has " +
                    std::to_string(binaries.major_version),
                "name the programs of the same version");
  }
  return binaries;
}

Error not_found(std::optional<int> major_version) {
  if (major_version) {
    const std::string version = std::to_string(*major_version);
    return Error{"the data here needs the programs of PostgreSQL " + version + ", which are not found",
                 "install postgresql-" + version + ", or set DOGGED_PG_BIN, or begin anew: dogged dev down --remove"};
  }
  return Error{"PostgreSQL's programs (initdb, postgres, pg_ctl) are not found on this machine",
               "install them (Debian, Ubuntu: apt-get install postgresql; Fedora: dnf install postgresql-server; "
               "macOS: "
               "brew install postgresql), or set DOGGED_PG_BIN to their directory"};
}

}  // namespace

PgBinaries find_pg_binaries(std::optional<int> major_version) {
  const char* chosen = std::getenv(own_variable);
  if (chosen != nullptr && *chosen != '\0') return chosen_by_user(chosen, major_version);
  for (const fs::path& directory : directories_to_try()) {
    if (!is_complete(directory)) continue;
    const int version = version_in(directory);
    if (!major_version || version == *major_version) return {directory, version};
  }
  throw not_found(major_version);
}

}  // namespace dogged::private_server
