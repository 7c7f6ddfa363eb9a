// Retry policies as JSON.
#include "policy_checks.hpp"

FUZZ_TARGET(policy_json, input) {
  try {
    require_sound(dogged::policy_from_json(input));
  } catch (const dogged::InvalidPolicy& error) {
    require_sound_message(error);
  }
}
