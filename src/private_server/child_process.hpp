// Runs a program to its end and keeps its output; as another user if we are root.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include <sys/types.h>

namespace dogged::private_server {

struct User {
  std::string name;
  uid_t uid;
  gid_t gid;
};

/// The argument of exec: the texts, which must outlive it, and a null pointer.
[[nodiscard]] std::vector<char*> c_strings(std::vector<std::string>& texts);

struct Command {
  std::vector<std::string> argv;  ///< argv[0] is a path
  std::filesystem::path directory = "/";
  std::optional<User> user = {};
  std::string input = {};    ///< of stdin; less than 4 KiB
  bool own_session = false;  ///< Ctrl-C in our terminal does not reach it
};

struct CommandResult {
  int exit_status = 0;  ///< 128 + the signal that ended it; 126 if it could not be started
  std::string output;   ///< stdout and stderr
};

/// Starts a program that runs on by itself, with `input` as its stdin and no output. Throws as run does.
[[nodiscard]] pid_t start_in_background(const Command& command, int input);

/// The program sees none of libpq's PG* variables and speaks English. Throws std::system_error if no process can be
/// created.
[[nodiscard]] CommandResult run(const Command& command);

}  // namespace dogged::private_server
