// The code that metrics and logs of calls give to a failure.
#pragma once

#include <exception>

#include <dogged/codes.hpp>
#include <dogged/exception_mapper.hpp>

namespace dogged {

/// TIMEOUT for an AttemptTimeout, else the code that the mapper gives. `error` is not null.
[[nodiscard]] ErrorCode failure_code(const std::exception_ptr& error, const ExceptionMapper& exceptions = {});

}  // namespace dogged
