// A handler of cpp-httplib knows its connection's two ends but not its descriptor, so that is looked for
// among the process's own.
#include "abort_connection.hpp"

#include <filesystem>
#include <stdexcept>

#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>

namespace webhooks {
namespace {

struct Endpoint {
  std::string host;
  std::string port;
};

using NameOfSocket = int (*)(int, sockaddr*, socklen_t*);  // getsockname or getpeername

Endpoint endpoint(int descriptor, NameOfSocket name_of) {
  sockaddr_storage address{};
  socklen_t length = sizeof address;
  auto* const generic = reinterpret_cast<sockaddr*>(&address);
  char host[NI_MAXHOST] = "";
  char port[NI_MAXSERV] = "";
  if (name_of(descriptor, generic, &length) != 0) return {};
  if (address.ss_family != AF_INET && address.ss_family != AF_INET6) return {};
  getnameinfo(generic, length, host, sizeof host, port, sizeof port, NI_NUMERICHOST | NI_NUMERICSERV);
  return {host, port};
}

bool is_connection(int descriptor, int local_port, const std::string& remote_address, int remote_port) {
  const Endpoint remote = endpoint(descriptor, &getpeername);
  return remote.host == remote_address && remote.port == std::to_string(remote_port) &&
         endpoint(descriptor, &getsockname).port == std::to_string(local_port);
}

}  // namespace

void abort_connection(int local_port, const std::string& remote_address, int remote_port) {
  for (const auto& entry : std::filesystem::directory_iterator{"/proc/self/fd"}) {
    const int descriptor = std::stoi(entry.path().filename());
    if (!is_connection(descriptor, local_port, remote_address, remote_port)) continue;
    const sockaddr nobody{.sa_family = AF_UNSPEC, .sa_data = {}};  // "disconnect": the kernel sends the reset at once
    if (connect(descriptor, &nobody, sizeof nobody) == 0) return;
  }
  throw std::runtime_error{"there is no connection with " + remote_address + ":" + std::to_string(remote_port) +
                           " to reset"};
}

}  // namespace webhooks
