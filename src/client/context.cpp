// Context's members that are no templates.
#include <dogged/context.hpp>
#include <dogged/error.hpp>

#include "text/number_text.hpp"

namespace dogged {

void Context::progress(double fraction, std::string_view message) {
  if (!(fraction >= 0.0 && fraction <= 1.0)) {  // so that NaN is refused as well
    throw InvalidInput("the progress " + number_to_text(fraction) + " is not 0 to 1",
                       "give the share that is done: 0.4, not 40");
  }
  note_progress(fraction, message);
}

}  // namespace dogged
