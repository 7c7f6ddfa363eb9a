// Facts about cards: a library that the handlers use.
#pragma once

#include <string>

namespace shop {

[[nodiscard]] bool is_stolen(const std::string& card);

}  // namespace shop
