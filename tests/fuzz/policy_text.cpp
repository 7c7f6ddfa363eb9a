// Retry policies as one line of text.
#include "policy_checks.hpp"

FUZZ_TARGET(policy_text, input) {
  try {
    require_sound(dogged::policy_from_text(input));
  } catch (const dogged::InvalidPolicy& error) {
    require_sound_message(error);
  }
}
