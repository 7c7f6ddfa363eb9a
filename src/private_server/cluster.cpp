// Starts a private PostgreSQL.
#include "private_server/cluster.hpp"

#include <array>
#include <csignal>
#include <fstream>
#include <string_view>
#include <vector>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <pwd.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

namespace dogged::private_server {
namespace {

namespace fs = std::filesystem;

User user_named(const char* name) {
  const passwd* entry = getpwnam(name);
  if (entry == nullptr)
    throw Error(std::string{"there is no user "} + name + " to run PostgreSQL as: it refuses to run as root");
  return {name, entry->pw_uid, entry->pw_gid};
}

/// Runs the statement in single-user mode, without a server.
CommandResult run_statement(const PgBinaries& binaries, const fs::path& data, const std::optional<User>& user,
                            const std::string& statement) {
  return run({.argv = {binaries.directory / "postgres", "--single", "-D", data, "postgres"},
              .directory = data.parent_path(),
              .user = user,
              .input = statement + "\n"});
}

}  // namespace

std::optional<User> user_for_new_server() {
  if (geteuid() != 0) return std::nullopt;
  return user_named(getpwnam("postgres") != nullptr ? "postgres" : "nobody");
}

std::optional<User> owner_of(const fs::path& directory) {
  struct stat info {};
  if (geteuid() != 0 || stat(directory.c_str(), &info) != 0 || info.st_uid == 0) return std::nullopt;
  const passwd* entry = getpwuid(info.st_uid);
  return User{entry == nullptr ? std::to_string(info.st_uid) : entry->pw_name, info.st_uid, info.st_gid};
}

bool can_be_given_to(const User& user, const fs::path& directory) {
  if (chown(directory.c_str(), user.uid, user.gid) != 0) return false;
  return run({.argv = {"/bin/sh", "-c", "test -w . && test -O ."}, .directory = directory, .user = user}).exit_status ==
         0;
}

std::string last_lines(const fs::path& file, std::size_t count) {
  std::ifstream stream{file};
  std::vector<std::string> lines;
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  std::string text;
  for (std::size_t i = lines.size() > count ? lines.size() - count : 0; i < lines.size(); ++i)
    text += "\n  " + lines[i];
  return text;
}

void require_success(const CommandResult& result, const std::string& what, const fs::path& log) {
  if (result.exit_status == 0) return;
  if (result.exit_status == 128 + SIGINT) throw Interrupted(what + " was interrupted");
  const std::string output = result.output.substr(0, result.output.find_last_not_of('\n') + 1);
  throw Error(what + " failed:\n  " + output + (log.empty() ? "" : last_lines(log, 10)),
              log.empty() ? "" : "the whole log is " + log.string());
}

std::string random_password() {
  std::array<unsigned char, 18> bytes{};
  if (getentropy(bytes.data(), bytes.size()) != 0) throw Error("the system gives no random numbers for a password");
  constexpr std::string_view digits = "0123456789abcdef";
  std::string text;
  for (unsigned char byte : bytes) {
    text += digits[byte >> 4U];
    text += digits[byte & 15U];
  }
  return text;
}

std::string url_of(const std::string& password, int port, const std::string& database) {
  return std::string{"postgresql://"} + role_and_database + ":" + password + "@127.0.0.1:" + std::to_string(port) +
         "/" + database;
}

int bindable_port(int wanted) {
  const int descriptor = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(wanted));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const int reuse = 1;  // as PostgreSQL does: connections of a server that just ended do not keep its port
  setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &reuse, sizeof reuse);
  socklen_t size = sizeof address;
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  const bool bound = bind(descriptor, generic, size) == 0 && getsockname(descriptor, generic, &size) == 0;
  close(descriptor);
  return bound ? ntohs(address.sin_port) : 0;
}

int free_port(int wanted) {
  if (wanted > 0 && bindable_port(wanted) == wanted) return wanted;
  const int port = bindable_port(0);
  if (port == 0) throw Error("no port of 127.0.0.1 can be listened on");
  return port;
}

void make_cluster(const PgBinaries& binaries, const fs::path& data, const std::optional<User>& user,
                  const ClusterSettings& settings) {
  std::vector<std::string> words{binaries.directory / "initdb",
                                 "-D",
                                 data,
                                 "-U",
                                 role_and_database,
                                 "--auth=trust",
                                 "--encoding=UTF8",
                                 "--locale=C"};
  if (!settings.durable) words.emplace_back("--no-sync");
  require_success(run({.argv = std::move(words), .directory = data.parent_path(), .user = user}), "initdb");
  const std::string note = "# Written by " + settings.made_by;
  std::ofstream{data / "pg_hba.conf"} << note << ": this machine alone, with the password.\n"
                                      << "host all all 127.0.0.1/32 scram-sha-256\n";
  std::ofstream{data / "postgresql.conf", std::ios::app} << "\n"
                                                         << note << ".\n"
                                                         << "listen_addresses = '127.0.0.1'\n"
                                                            "unix_socket_directories = ''\n"
                                                            "password_encryption = 'scram-sha-256'\n"
                                                         << settings.settings;
  require_success(run_statement(binaries, data, user, std::string{"create database "} + role_and_database + ";"),
                  "making the database");
}

void set_password(const PgBinaries& binaries, const fs::path& data, const std::optional<User>& user,
                  const std::string& password) {
  require_success(run_statement(binaries, data, user,
                                std::string{"alter role "} + role_and_database + " password '" + password + "';"),
                  "setting the password");
}

CommandResult start(const PgBinaries& binaries, const fs::path& data, const fs::path& log, int port,
                    const std::optional<User>& user) {
  return run({.argv = {binaries.directory / "pg_ctl", "start", "-D", data, "-l", log, "-w", "-t", "60", "-o",
                       "-p " + std::to_string(port)},
              .directory = data.parent_path(),
              .user = user,
              .own_session = true});
}

}  // namespace dogged::private_server
