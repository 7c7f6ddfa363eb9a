// See hooks.hpp.
#include "tasks/hooks.hpp"

#include <exception>
#include <string_view>

#include <cxxabi.h>
#include <spdlog/spdlog.h>

#include "client/log_event.hpp"

namespace dogged::runtime {
namespace {

template <class Hook>
void call_logged(const Context& context, std::string_view name, const Hook& hook) {
  const auto tell = [&](std::string_view what) {
    context.log().log(event("middleware_failed"), spdlog::level::err,
                      "a middleware's {} has thrown, which changes nothing: {}", name, what);
  };
  try {
    hook();
  } catch (const abi::__forced_unwind&) {
    throw;  // pthread_exit in the hook: the thread must be let go
  } catch (const std::exception& error) {
    tell(error.what());
  } catch (...) {
    tell("something that is no std::exception");
  }
}

}  // namespace

void Hooks::before(Context& context) {
  for (const auto& middleware : all_) {
    middleware->before(context);
    ++begun_;
  }
}

void Hooks::after(Context& context) {
  for (std::size_t i = begun_; i-- > 0;) all_[i]->after(context);
}

void Hooks::end(Context& context, const AttemptEnd& end) {
  const bool has_failed = end.outcome != AttemptOutcome::succeeded;
  for (std::size_t i = begun_; i-- > 0;) {
    Middleware& middleware = *all_[i];
    if (has_failed) call_logged(context, "on_error", [&] { middleware.on_error(context, end); });
    if (end.retry_in) call_logged(context, "on_retry", [&] { middleware.on_retry(context, end); });
    call_logged(context, "on_end", [&] { middleware.on_end(context, end); });
  }
}

}  // namespace dogged::runtime
