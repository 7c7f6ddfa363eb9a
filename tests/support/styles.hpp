// How pages are drawn in the tests of the command.
#pragma once

#include "cli/render/text.hpp"

namespace dogged::test {

inline const cli::Style plain{.width = 80, .unicode = true, .color = false, .zone = cli::Zone::utc};
inline const cli::Style ascii{.width = 80, .unicode = false, .color = false, .zone = cli::Zone::utc};

}  // namespace dogged::test
