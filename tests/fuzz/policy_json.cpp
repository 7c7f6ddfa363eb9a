// Retry policies as JSON.
#include "policy_checks.hpp"

void fuzz::check(std::string_view input) {
  try {
    require_sound(dogged::policy_from_json(input));
  } catch (const dogged::InvalidPolicy& error) {
    require_sound_message(error);
  }
}
