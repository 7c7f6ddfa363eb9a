// Creates and starts a private PostgreSQL on 127.0.0.1 with a password: for `dogged dev` and the test kit.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include <dogged/error.hpp>

#include "private_server/child_process.hpp"
#include "private_server/pg_binaries.hpp"

namespace dogged::private_server {

/// The role is a superuser.
inline constexpr const char* role_and_database = "dogged";

/// Ctrl-C ended one of PostgreSQL's programs.
class Interrupted : public Error {
 public:
  using Error::Error;
};

/// PostgreSQL refuses to run as root: the user that runs a new server instead. Nothing if we are not root.
[[nodiscard]] std::optional<User> user_for_new_server();
/// The owner of a directory, if it is another user.
[[nodiscard]] std::optional<User> owner_of(const std::filesystem::path& directory);
/// Whether `user` can reach and own the directory. The parents may be closed to the user (as /root is), and some file
/// systems have no owners.
[[nodiscard]] bool can_be_given_to(const User& user, const std::filesystem::path& directory);

/// Each on a line of its own, indented.
[[nodiscard]] std::string last_lines(const std::filesystem::path& file, std::size_t count);
/// Throws Interrupted, or Error with the program's output and the end of `log`, unless it exited with 0.
void require_success(const CommandResult& result, const std::string& what, const std::filesystem::path& log = {});

[[nodiscard]] std::string random_password();
[[nodiscard]] std::string url_of(const std::string& password, int port, const std::string& database);

/// The given port of 127.0.0.1 if it can be listened on, else (or for 0) another one; 0 if there is none.
[[nodiscard]] int bindable_port(int wanted);
/// `wanted` if it is free, else another.
[[nodiscard]] int free_port(int wanted);

struct ClusterSettings {
  std::string made_by;   ///< named in its configuration
  std::string settings;  ///< lines of postgresql.conf
  bool durable = true;   ///< false: initdb does not wait for the disk
};

/// Creates a cluster in `data`, with the role and the database `dogged`. The role has no password yet, so nobody can
/// log in.
void make_cluster(const PgBinaries& binaries, const std::filesystem::path& data, const std::optional<User>& user,
                  const ClusterSettings& settings);
/// Sets the password of the role, while the server does not run. The password is of letters and digits.
void set_password(const PgBinaries& binaries, const std::filesystem::path& data, const std::optional<User>& user,
                  const std::string& password);
/// Runs pg_ctl start, which returns once the server takes connections.
[[nodiscard]] CommandResult start(const PgBinaries& binaries, const std::filesystem::path& data,
                                  const std::filesystem::path& log, int port, const std::optional<User>& user);

}  // namespace dogged::private_server
