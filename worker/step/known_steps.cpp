// See known_steps.hpp.
#include "step/known_steps.hpp"

namespace dogged::runtime {

KnownSteps::Ask KnownSteps::next(const std::string& name) const {
  if (!has_asked_) return Ask::names;
  return are_all_ && !unsure_.contains(name) ? Ask::nothing : Ask::result;
}

void KnownSteps::on_names(std::set<std::string> names) {
  has_asked_ = true;
  are_all_ = names.size() < static_cast<std::size_t>(most_names);
  unsure_.merge(names);
}

}  // namespace dogged::runtime
