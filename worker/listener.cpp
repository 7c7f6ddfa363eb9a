// See listener.hpp.
#include "listener.hpp"

#include <utility>

#include "sql_statements.hpp"

namespace dogged::runtime {
namespace {

constexpr std::chrono::hours upkeep_interval{1};
constexpr std::chrono::minutes upkeep_again{1};  // after it failed

}  // namespace

Listener::Listener(Session session, std::function<void(std::string_view)> on_wake, std::shared_ptr<spdlog::logger> log)
    : session_(std::move(session)), on_wake_(std::move(on_wake)), log_(std::move(log)) {
  thread_.start([this] { run(); });
}

Listener::~Listener() { stop(); }

void Listener::stop() {
  stop_.request_stop();
  wake_.wake();
  thread_.join(session_, std::chrono::seconds{1});
}

void Listener::run() {
  const std::stop_token stop = stop_.get_token();
  while (!stop.stop_requested()) {
    try {
      if (!listening_) listen();
      if (SteadyClock::now() >= upkeep_at_) upkeep();
      const auto until_upkeep = std::chrono::ceil<milliseconds>(upkeep_at_ - SteadyClock::now());
      for (const db::Notification& notification : session_.connection().wait(until_upkeep, wake_.fd())) {
        on_wake_(notification.payload);
      }
      session_.succeeded();
    } catch (const std::exception& error) {
      session_.recover_from(error, stop);
      listening_ = session_.is_connected() && listening_;
    }
  }
}

void Listener::listen() {
  session_.connection().listen("wake");
  listening_ = true;
  on_wake_("");
}

void Listener::upkeep() {
  upkeep_at_ = SteadyClock::now() + upkeep_again;  // before it may fail: then listening goes on meanwhile
  const auto made = session_.connection().run(sql::make_partitions).one().number("made");
  if (made > 0) log_->debug("made {} partitions for the coming days", made);
  upkeep_at_ = SteadyClock::now() + upkeep_interval;
}

}  // namespace dogged::runtime
