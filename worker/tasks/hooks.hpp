// The middleware of one attempt. Calls the hooks in their order, and only those whose before() has returned.
#pragma once

#include <cstddef>
#include <functional>

#include <dogged/middleware.hpp>
#include <dogged/task_options.hpp>

namespace dogged::runtime {

/// For the thread that runs the handler.
class Hooks {
 public:
  /// Refers to `all`, which cannot be a temporary.
  explicit Hooks(std::reference_wrapper<const Middlewares> all) : all_(all) {}

  /// Throw what a hook throws.
  void before(Context& context);
  void after(Context& context);

  /// Whether the before() of some hook has returned.
  [[nodiscard]] bool has_begun_any() const noexcept { return begun_ > 0; }
  /// Calls on_error, on_retry and on_end, as far as they apply. An exception of a hook is logged by the context.
  void end(Context& context, const AttemptEnd& end);

 private:
  const Middlewares& all_;
  std::size_t begun_ = 0;  // so many hooks have begun, from the first on
};

}  // namespace dogged::runtime
