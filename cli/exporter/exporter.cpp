// See exporter.hpp.
#include "cli/exporter/exporter.hpp"

#include <exception>
#include <utility>

#include "client/log_event.hpp"
#include "db/errors.hpp"
#include "http/page_server.hpp"

namespace dogged::cli::exporter {
namespace {

using std::chrono::seconds;
using std::chrono::steady_clock;

/// Scrapes within this time after a reading share it.
constexpr seconds shared_for{1};
/// A scrape waits so long, which is below Prometheus's usual scrape_timeout of 10 s. A reading that takes longer is
/// stuck in the network, because each of its statements has a timeout on the server.
constexpr seconds longest_wait{8};
/// The server has one more thread, which answers probes and further scrapes while PostgreSQL does not answer.
constexpr int most_waiting = http::PageServer::threads - 1;
/// A scrape that finds so many waiting gets the last reading if it is not older: Prometheus's usual scrape_interval.
constexpr seconds shared_without_waiting{60};

}  // namespace

Exporter::Exporter(Reader::Connect connect, std::shared_ptr<spdlog::logger> log)
    : log_(std::move(log)), reader_(std::move(connect)), thread_([this] { serve(); }) {}

Exporter::~Exporter() {
  stop();
  thread_.join();
}

void Exporter::stop() {
  {
    const detail::Lock lock{mutex_};
    state_ = State::ended;
  }
  changed_.notify_all();
  reader_.abort();
}

void Exporter::require_going_on() {
  const detail::Lock lock{mutex_};
  if (why_ended_) std::rethrow_exception(why_ended_);
}

http::Page Exporter::page(std::string_view path, std::string_view accept) {
  if (path == "/livez") return {.body = "live\n"};
  if (path != "/metrics" && path != "/readyz") {
    return {.status = 404, .body = "there are /metrics, /livez and /readyz\n"};
  }
  detail::Lock lock{mutex_};
  if (!refresh(lock)) {
    return {.status = 503,
            .body = "PostgreSQL has not answered yet, and two requests already wait for it; ask again in " +
                    std::to_string(longest_wait.count()) + " s\n"};
  }
  if (path == "/metrics") {
    const MetricsFormat format = metrics_format_for(accept);
    return {.content_type = std::string{content_type_of(format)}, .body = metrics_.text(format)};
  }
  if (metrics_.why_down().empty()) return {.body = "ready\n"};
  return {.status = 503, .body = "the database cannot be read: " + metrics_.why_down() + "\n"};
}

/// Waits for a recent reading. False: there is no recent reading, and most_waiting threads already wait.
bool Exporter::refresh(detail::Lock& lock) {
  const auto begin = steady_clock::now();
  const auto age = readings_ > 0 ? begin - read_at_ : steady_clock::duration::max();
  if (age < shared_for) return true;
  if (waiting_ == most_waiting) return age < shared_without_waiting;
  ++waiting_;
  wait_for_reading(lock, begin + longest_wait);
  --waiting_;
  return true;
}

void Exporter::wait_for_reading(detail::Lock& lock, steady_clock::time_point until) {
  if (state_ == State::idle) state_ = State::wanted;
  changed_.notify_all();
  const std::uint64_t before = readings_;
  while (readings_ == before && state_ != State::ended) {
    if (changed_.wait_until(lock, until)) continue;
    lose("PostgreSQL has not answered for 8 s");
    reader_.abort();
    return;
  }
}

void Exporter::serve() {
  while (wait_for_wish()) {
    try {
      publish(reader_.read());
    } catch (const std::exception& error) {
      if (is_over_after(error)) return;
      const detail::Lock lock{mutex_};
      lose(db::one_line(error.what()));
      end_reading();
    }
  }
}

/// False: the exporter ends.
bool Exporter::wait_for_wish() {
  detail::Lock lock{mutex_};
  while (state_ == State::idle) changed_.wait(lock);
  if (state_ == State::ended) return false;
  state_ = State::reading;
  return true;
}

/// Called in the handler of the error. Only the first reading ends the exporter for a wrong URL. A URL that becomes
/// wrong later may be right again. `dogged dev down` removes the URL of its server, and `dogged dev up` restores the
/// URL.
bool Exporter::is_over_after(const std::exception& error) {
  const detail::Lock lock{mutex_};
  const bool has_wrong_url = readings_ == 0 && dynamic_cast<const InvalidInput*>(&error) != nullptr;
  if (!has_wrong_url && !db::is_defect(error)) return false;
  why_ended_ = std::current_exception();
  metrics_.lose(db::one_line(error.what()));
  state_ = State::ended;
  changed_.notify_all();
  return true;
}

void Exporter::publish(Reading reading) {
  const detail::Lock lock{mutex_};
  tell_of(reading.asked);
  metrics_.add(std::move(reading));
  end_reading();
}

void Exporter::end_reading() {
  if (state_ == State::reading) state_ = State::idle;
  ++readings_;
  read_at_ = steady_clock::now();
  changed_.notify_all();
}

/// One line of the log when something changes, and none for each scrape.
void Exporter::tell_of(const std::vector<Asked>& asked) {
  if (was_told_of_loss_) log_->log(event("database_read_again"), spdlog::level::info, "the database is read again");
  was_told_of_loss_ = false;
  for (const auto& [query, took, why_not, again_in, age] : asked) {
    if (why_not.empty() && refused_.erase(query) > 0)
      log_->log(event("query_answered_again"), spdlog::level::info, "the query {} is answered again", to_text(query));
    if (!why_not.empty() && refused_.insert(query).second) {
      log_->log(
          event("query_refused"), spdlog::level::warn,
          "the query {} is refused, and its metrics are left out ({}): {}; it is asked again at the first scrape{}",
          to_text(query), metrics_of(query), db::one_line(why_not),
          again_in > 0 ? fmt::format(" after {:.0f} s", again_in) : "");
    }
  }
}

void Exporter::lose(const std::string& why) {
  if (!was_told_of_loss_ && state_ != State::ended) {
    log_->log(event("database_unreadable"), spdlog::level::warn,
              "the database cannot be read, and its metrics are left out: {}", why);
  }
  was_told_of_loss_ = true;
  metrics_.lose(why);
}

}  // namespace dogged::cli::exporter
