// Resetting a connection in the middle of a request, which cpp-httplib has no call for.
#pragma once

#include <string>

namespace webhooks {

/// Sends a TCP reset on this process's connection from `local_port` to `remote_address`:`remote_port`
/// (numbers as httplib::Request has them). The descriptor stays open, for its owner to close. Linux only.
/// Throws std::runtime_error where there is no such connection.
void abort_connection(int local_port, const std::string& remote_address, int remote_port);

}  // namespace webhooks
