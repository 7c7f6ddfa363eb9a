// See first_defect.hpp.
#include "base/first_defect.hpp"

#include <utility>

#include <dogged/error.hpp>

#include "db/errors.hpp"

namespace dogged::runtime {

std::string message_of(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const std::exception& known) {
    return db::one_line(known.what());
  } catch (...) {
    return "an unknown exception";
  }
}

void FirstDefect::note(const std::string& service, std::exception_ptr error) {
  {
    const detail::Lock lock{mutex_};
    if (!found_) found_ = {service, std::move(error)};
  }
  attention_.wake();
}

bool FirstDefect::is_noted() const {
  const detail::Lock lock{mutex_};
  return found_.has_value();
}

void FirstDefect::rethrow() const {
  const detail::Lock lock{mutex_};
  if (!found_) return;
  throw Defect("the worker ends, because its " + found_->service +
                   " met a mistake that no retry mends: " + message_of(found_->error),
               "if `dogged migrate --status` shows a current schema, this is a bug in dogged: please report the line");
}

}  // namespace dogged::runtime
