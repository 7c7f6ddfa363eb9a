// Hints that name functions of SQL or C++, for those who use the command line.
#pragma once

#include <string>
#include <string_view>

namespace dogged::cli {

/// With `dogged queues create NAME` in place of dogged.create_queue(name), and so on; `schema` is how the schema is
/// called.
[[nodiscard]] std::string in_command_words(std::string hint, std::string_view schema);

}  // namespace dogged::cli
