// The names of tasks/definition.hpp, for headers that only refer to definitions.
#pragma once

#include <functional>
#include <map>
#include <string>

namespace dogged::runtime {

class InForce;
struct Declaration;
struct Definition;

/// By task name.
using Definitions = std::map<std::string, Definition, std::less<>>;

}  // namespace dogged::runtime
