// See cards.hpp.
#include "cards.hpp"

namespace shop {

bool is_stolen(const std::string& card) { return card == "stolen"; }

}  // namespace shop
