// A parameter for a lambda that a helper calls before the helper returns. The compiler writes 15 functions for each
// lambda that becomes a std::function, and two for each that becomes a FunctionRef.
#pragma once

#include <type_traits>
#include <utility>

namespace dogged::test {

template <class Signature>
class FunctionRef;

/// Refers to a lambda or another object that can be called, and does not keep it: only for parameters.
template <class Result, class... Args>
class FunctionRef<Result(Args...)> {
 public:
  template <class Function>
  requires(!std::is_same_v<std::remove_cv_t<Function>, FunctionRef>)
      FunctionRef(const Function& function)  // NOLINT(google-explicit-constructor): as std::function
      : function_(&function), call_(&call<Function>) {}

  Result operator()(Args... args) const { return call_(function_, std::forward<Args>(args)...); }

 private:
  template <class Function>
  static Result call(const void* function, Args... args) {
    return (*static_cast<const Function*>(function))(std::forward<Args>(args)...);
  }

  const void* function_;
  Result (*call_)(const void*, Args...);
};

}  // namespace dogged::test
