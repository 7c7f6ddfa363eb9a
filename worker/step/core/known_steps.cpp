// See known_steps.hpp.
#include "step/core/known_steps.hpp"

#include <ostream>

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

std::string_view to_text(KnownSteps::Ask ask) noexcept {
  switch (ask) {
    case KnownSteps::Ask::names:
      return "names";
    case KnownSteps::Ask::result:
      return "result";
    case KnownSteps::Ask::nothing:
      break;
  }
  return "nothing";
}

std::ostream& operator<<(std::ostream& out, KnownSteps::Ask ask) { return out << to_text(ask); }

}  // namespace dogged::runtime
