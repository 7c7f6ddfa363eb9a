// See outage.hpp.
#include "base/core/outage.hpp"

#include <ostream>
#include <utility>

namespace dogged::runtime {

Outage::Tell Outage::on_failure(std::string reason) {
  const bool is_new = reasons_.note(std::move(reason));
  if (std::exchange(state_, State::fails) == State::works) return Tell::first;
  return is_new ? Tell::other_reason : Tell::nothing;
}

bool Outage::on_success() noexcept {
  reasons_.forget();
  return std::exchange(state_, State::works) == State::fails;
}

std::string_view to_text(Outage::State state) noexcept {
  switch (state) {
    case Outage::State::works:
      return "works";
    case Outage::State::fails:
      break;
  }
  return "fails";
}

std::string_view to_text(Outage::Tell tell) noexcept {
  switch (tell) {
    case Outage::Tell::first:
      return "first";
    case Outage::Tell::other_reason:
      return "other reason";
    case Outage::Tell::nothing:
      break;
  }
  return "nothing";
}

std::ostream& operator<<(std::ostream& out, Outage::State state) { return out << to_text(state); }
std::ostream& operator<<(std::ostream& out, Outage::Tell tell) { return out << to_text(tell); }

}  // namespace dogged::runtime
