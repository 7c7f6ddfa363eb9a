// Hooks around handlers, for what all handlers of a worker share: tenancy, tracing, metrics, transactions.
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
#include <dogged/context.hpp>
#include <dogged/delay.hpp>

namespace dogged {

/// How an attempt ended, as the worker decided by the retry policy in force. The database has the last word. A
/// cancellation, an expiry or a lost lease that the worker has not heard of leads to another end.
struct AttemptEnd {
  AttemptOutcome outcome = AttemptOutcome::succeeded;
  std::string_view error_code = {};           ///< empty if the attempt succeeded
  std::string_view error_message = {};        ///< the same in words
  std::optional<milliseconds> retry_in = {};  ///< how long after the end the task runs again; none: it does not
  bool spends_retry = false;                  ///< false after an interruption and a snooze
  Context::Clock::duration running_for{0};    ///< from the start of the attempt to the end of after()
};

/// Derive from it and override what you need. One object serves all handlers of its worker, on many threads at
/// once: keep what belongs to an attempt in Context::local. All hooks of an attempt run on the thread of its handler.
///
/// The worker's hooks (WorkerOptions::middleware) come before the task's (TaskOptions::middleware). before() is called
/// in that order, and every other hook in the reverse order. So the first hook is the outermost.
/// If a before() throws, neither its own other hooks nor the hooks behind it are called. The hooks in front of it get
/// on_error.
///
/// before() and after() may fail the attempt: their exceptions count as if the handler had thrown them. Exceptions
/// of the other hooks are logged and change nothing.
class Middleware {
 public:
  virtual ~Middleware() = default;

  /// Before the args are read and the handler begins.
  virtual void before(Context&) {}
  /// The handler has returned. This hook may end the attempt by Context::complete_in(transaction), which stores the
  /// result that the handler has returned. An attempt that the handler completed in its own transaction has succeeded
  /// by then, even if this hook throws.
  virtual void after(Context&) {}
  /// The attempt did not succeed: the handler or a hook has thrown (a Snooze as well), or the result cannot be stored.
  virtual void on_error(Context&, const AttemptEnd&) {}
  /// The task runs again; after on_error.
  virtual void on_retry(Context&, const AttemptEnd&) {}
  /// The last hook of each attempt whose before() has returned. If the handler ignored its stop token and was given up,
  /// this hook is called when the handler ends, if ever. The attempt has ended in the database by then.
  virtual void on_end(Context&, const AttemptEnd&) {}

 protected:
  Middleware() = default;
  Middleware(const Middleware&) = default;
  Middleware& operator=(const Middleware&) = default;
};

}  // namespace dogged
