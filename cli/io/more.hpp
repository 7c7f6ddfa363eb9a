// The note of a list that it may not be complete.
#pragma once

#include <string>

namespace dogged::cli {

class Invocation;

/// On stderr with every format, because an incomplete list looks like a complete one. `jq` and `dogged tasks cancel -`
/// take 50 ids for all ids. `after`: where the list goes on, as JSON; empty if no option says that.
void say_there_may_be_more(const Invocation& invocation, const std::string& message, const std::string& after = {});

}  // namespace dogged::cli
