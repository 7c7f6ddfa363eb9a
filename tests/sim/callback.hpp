// A function that is called later, at most once as a rule: the part of C++23's std::move_only_function that the
// simulation needs. A std::function is copied with all that it holds. A callback moves at the cost of a pointer.
#pragma once

#include <concepts>
#include <memory>
#include <type_traits>
#include <utility>

namespace dogged::sim {

template <class Result>
class Callable {
 public:
  Callable() = default;
  template <class Function>
  requires(!std::same_as<std::remove_cvref_t<Function>, Callable>)
      Callable(Function&& function)  // NOLINT(google-explicit-constructor): as std::function
      : held_(std::make_unique<Holder<std::remove_cvref_t<Function>>>(std::forward<Function>(function))) {}

  Result operator()() const { return held_->call(); }

 private:
  struct Held {
    virtual ~Held() = default;
    virtual Result call() = 0;
  };
  template <class Function>
  struct Holder final : Held {
    explicit Holder(Function of) : function(std::move(of)) {}
    Result call() override { return static_cast<Result>(function()); }

    Function function;
  };

  std::unique_ptr<Held> held_;
};

using Callback = Callable<void>;

}  // namespace dogged::sim
