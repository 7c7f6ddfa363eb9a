// What handlers say of their progress, as KeeperInbox and LeaseKeeper::write_progress pass it on. See worker.hpp.
#include <algorithm>
#include <utility>

#include "worker.hpp"

namespace dogged::sim {
namespace {

using namespace std::chrono_literals;

/// A write a second, the pause of a keeper that has lost its connection, and some statements.
constexpr Duration longest_until_written = 1300ms;

}  // namespace

void Worker::say_progress_in(Duration time, const std::shared_ptr<Runner>& runner) {
  later_in_handler(time, runner, [this, runner] {
    const runtime::Attempt attempt = attempt_of(*runner);
    const std::int64_t value = ++world_.last_progress;
    life_->unwritten[{attempt.id, attempt.number}] = value;
    wake_keeper();
    if (world_.progress_is_timely) check_progress_in(longest_until_written, attempt, value);
  });
}

/// The time counts from when the database takes progress again. The keeper of a lease that was lost writes nothing.
void Worker::check_progress_in(Duration time, const runtime::Attempt& attempt, std::int64_t value) {
  later(time, [this, attempt, value] {
    const TimePoint from = std::max(world_.server_is_back_at, world_.database.refused_until(Work::progress));
    if (now() < from + longest_until_written) {
      return check_progress_in(from + longest_until_written - now(), attempt, value);
    }
    if (life_->has_keeper_ended || life_->lease.state() != runtime::Lease::State::held) return;
    promises::progress_is_on_record(attempt, value, world_.database);
  });
}

void Worker::write_progress() {
  life_->in_flight = std::exchange(life_->unwritten, {});
  ask_keeper([this, said = life_->in_flight]() -> Callback {
    if (world_.database.is_refused(Work::progress)) return [this] { progress_refused(); };
    world_.database.write_progress(said);
    return [this] {
      life_->in_flight.clear();
      life_->keeper.on_progress_written(now());
    };
  });
}

void Worker::progress_refused() {
  if (world_.mutant == Mutant::forgets_refused_progress) life_->in_flight.clear();
  put_progress_back();
  life_->owes_progress = false;
  (void)life_->keeper.on_progress_refused(now());
}

/// A newer value of the same attempt stays.
void Worker::put_progress_back() {
  life_->unwritten.merge(life_->in_flight);
  life_->in_flight.clear();
}

/// Without a connection the keeper does not write its last progress.
bool Worker::keeper_may_write_last() const {
  return life_->is_keeper_connected && world_.mutant != Mutant::writes_no_last_progress;
}

/// Handlers that were given up may say more while the keeper ends.
void Worker::check_last_progress() const {
  if (!life_->owes_progress || !life_->is_keeper_connected) return;
  if (life_->lease.state() != runtime::Lease::State::held) return;  // its tasks may be another worker's
  for (const auto& [attempt, value] : life_->unwritten) {
    if (value > life_->last_before_stop) continue;
    promises::progress_is_on_record({attempt.first, attempt.second}, value, world_.database);
  }
}

}  // namespace dogged::sim
