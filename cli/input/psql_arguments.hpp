// The arguments that `dogged dev psql` gives to psql.
#pragma once

#include <string>
#include <vector>

namespace dogged::cli {

/// Refuses a URL or other connection text in place of a database, a user, a host or a port. Messages of psql would
/// quote the text with its password. The arguments are read as psql reads them. Throws InvalidInput, which quotes
/// nothing. Not thread-safe, as getopt is not.
void require_plain_names(std::vector<std::string> arguments);

}  // namespace dogged::cli
