// Finds PostgreSQL's programs on this machine.
#pragma once

#include <filesystem>
#include <optional>
#include <vector>

namespace dogged::private_server {

struct PgBinaries {
  std::filesystem::path directory;  ///< holds initdb, postgres and pg_ctl
  int major_version = 0;            ///< for example 15
};

/// Programs that can run a cluster of `major_version`; without a version, the first found. If $DOGGED_PG_BIN is set,
/// the search is there and nowhere else. Otherwise the order is pg_config's bindir, PATH, and the usual places of
/// distributions, newest first. Throws Error, which lists the places searched and the way to install PostgreSQL.
[[nodiscard]] PgBinaries find_pg_binaries(std::optional<int> major_version);

}  // namespace dogged::private_server
