// Hooks around handlers: for tenancy, tracing, metrics, transactions, whatever all handlers of a worker share.
//
//   class Tenancy : public dogged::Middleware {
//     void before(dogged::Context& ctx) override {
//       ctx.local<Tenant>() = tenants.find(nlohmann::json::parse(ctx.args_json()).at("tenant"));
//     }
//   };
//
//   int main(int argc, char** argv) {
//     return dogged::worker_main(argc, argv, {.middleware = {std::make_shared<Tracing>(),
//     std::make_shared<Tenancy>()}});
//   }
//
// ClientOptions::middleware has hooks around enqueue (<dogged/client.hpp>).
#pragma once

#include <chrono>
#include <optional>
#include <string_view>

#include <dogged/attempt_outcome.hpp>
#include <dogged/task.hpp>

namespace dogged {

/// How an attempt ended, as the worker has decided by the retry policy in force. The database has the last word: a
/// cancellation, an expiry or a lost lease that the worker has not heard of changes what becomes of the task.
struct AttemptEnd {
  AttemptOutcome outcome = AttemptOutcome::succeeded;
  std::string_view error_code = {};           ///< empty where it succeeded
  std::string_view error_message = {};        ///< the same in words
  std::optional<milliseconds> retry_in = {};  ///< the task runs again so long after the end; none: it does not
  bool spends_retry = false;                  ///< false after an interruption
  Context::Clock::duration running_for{0};    ///< from the start of the attempt to the end of after()
};

/// Derive from it, and override what you need. One object serves all handlers of its worker, on many threads at once:
/// what it keeps for an attempt belongs into Context::local. All hooks of an attempt run on the thread of its handler.
///
/// Hooks are ordered: the worker's (WorkerOptions::middleware) before the task's (TaskOptions::middleware). before() is
/// called in that order and everything else in the reverse one, so that the first is the outermost. Where a before()
/// throws, the hooks behind it and its own others are not called, and those in front of it hear of the error.
///
/// before() and after() may fail the attempt: what they throw counts as if the handler had thrown it. What the others
/// throw is logged, and changes nothing.
class Middleware {
 public:
  virtual ~Middleware() = default;

  /// Before the args are read and the handler begins.
  virtual void before(Context&) {}
  /// The handler has returned. An attempt that the handler has completed in its own transaction has succeeded by then,
  /// whatever this throws.
  virtual void after(Context&) {}
  /// The attempt did not succeed: the handler or a hook has thrown, or the result cannot be stored.
  virtual void on_error(Context&, const AttemptEnd&) {}
  /// The task runs again; after on_error.
  virtual void on_retry(Context&, const AttemptEnd&) {}
  /// The last of each attempt whose before() has returned. A handler that was given up because it ignores its stop
  /// token gets it when it ends, if ever; its attempt has ended in the database by then.
  virtual void on_end(Context&, const AttemptEnd&) {}

 protected:
  Middleware() = default;
  Middleware(const Middleware&) = default;
  Middleware& operator=(const Middleware&) = default;
};

}  // namespace dogged
