// The lists of <dogged/code_sets.hpp> by their names, for text.
#pragma once

#include <string_view>
#include <vector>

#include <dogged/codes.hpp>

namespace dogged {

struct NamedCodeSet {
  std::string_view name;  ///< as in C++; lower case, so that no code has it
  ErrorCodes codes;
};

[[nodiscard]] const std::vector<NamedCodeSet>& named_code_sets();

}  // namespace dogged
