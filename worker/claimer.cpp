// See claimer.hpp.
#include "claimer.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <utility>

#include <dogged/retry_metrics.hpp>
#include <dogged/retry_options.hpp>

#include "retry/duration.hpp"
#include "sql_statements.hpp"
#include "who_holds.hpp"

namespace dogged::runtime {
namespace {

constexpr std::size_t max_backlog = 2000;  // reports to be written; more are not added to by claiming
constexpr milliseconds ask_due_while_busy{1000};
constexpr milliseconds first_settle_wait{2};
constexpr std::size_t often = 20;  // rings in this time
constexpr milliseconds counting_time{100};
constexpr milliseconds shortest_look_soon{2};  // doubled while nothing is found
constexpr milliseconds longest_look_soon{16};
constexpr milliseconds awake_without_find{1000};
constexpr milliseconds ask_due_while_awake{10};
constexpr milliseconds while_others_promote{50};  // what is due is locked by someone else
constexpr milliseconds between_settlings{
    1000};  // of the watermarks; or, where nothing is left to claim, this many tasks
constexpr std::size_t long_walk = 500;
// Now and then everything is looked through, for rows may have been changed by hand: where it takes long, less often.
constexpr milliseconds between_looks_through_all{60'000};
constexpr int rarely = 200;                            // times as long as it took
constexpr milliseconds give_back_while_locked{250};    // what is to be given back is locked by someone
constexpr milliseconds longest_wait_for_thread{1000};  // then a prefetched task is for others
constexpr milliseconds between_sums{1000};             // of what dogged.claims lists; or when they list this many tasks
constexpr std::size_t long_list = 16'000;
constexpr milliseconds oldest_queue_settings{1000};                    // that a claim goes by
constexpr milliseconds longest_ahead = std::chrono::hours{24 * 3650};  // a later one was set by hand

}  // namespace

Claimer::Claimer(Session session, Settings settings, const Lease& lease, const Definitions& definitions,
                 Circuits& circuits, std::shared_ptr<Tally> tally, std::shared_ptr<spdlog::logger> log)
    : session_(std::move(session)),
      settings_(settings),
      lease_(lease),
      definitions_(definitions),
      circuits_(circuits),
      tally_(std::move(tally)),
      log_(std::move(log)),
      look_at_(SteadyClock::now() + settings_.poll_interval),
      ask_due_at_(SteadyClock::now()),
      due_at_(SteadyClock::time_point::max()) {
  for (const auto& [name, definition] : definitions_) names_.push_back(name);
}

Claimer::~Claimer() { stop(); }

void Claimer::start(const std::vector<std::unique_ptr<Executor>>& executors, const Completer& completer) {
  completer_ = &completer;
  {
    const std::scoped_lock lock{mutex_};  // completer and lease keeper may have something to say already
    for (const auto& executor : executors) {
      queues_.push_back({.executor = executor.get(), .own_concurrency = executor->concurrency()});
      queue_names_.push_back(executor->queue());
    }
  }
  thread_.start([this] { run(); });
}

/// Makes a change that the claimer has to hear of, with the mutex held.
template <class Change>
void Claimer::tell(Change change) {
  bool waits = false;
  {
    const std::scoped_lock lock{mutex_};
    change();
    waits = waits_ && woken_;
  }
  if (waits) wake_.wake();
}

void Claimer::ring(std::string_view queue) {
  tell([&] {
    bool is_for_it = false;
    for (Queue& known : queues_) {
      if (known.paused || (!queue.empty() && known.executor->queue() != queue)) continue;
      known.look_again();
      due_unknown_ = true;
      woken_ = true;
      is_for_it = true;
    }
    if (is_for_it) count_ring();
  });
}

/// With the mutex held.
void Claimer::count_ring() {
  const auto now = SteadyClock::now();
  if (now - counting_since_ > counting_time) {
    rings_ = 0;
    counting_since_ = now;
  }
  ++rings_;
}

void Claimer::look_again() {
  tell([&] {
    for (Queue& queue : queues_) queue.look_again();
    due_unknown_ = queues_unknown_ = circuits_unknown_ = woken_ = true;
  });
}

void Claimer::note_due(SteadyClock::duration delay) {
  tell([&] {
    due_at_ = std::min(due_at_, SteadyClock::now() + delay);
    woken_ = true;  // so that a wait under way is cut to it
  });
}

void Claimer::note_ready() {
  tell([&] {
    for (Queue& queue : queues_) queue.look_again();
    due_unknown_ = true;  // where the server's clock was set back, it has them wait
    others_to_wake_ = true;
    woken_ = true;
  });
}

void Claimer::note_room() {
  tell([&] {
    // Room matters where there was more than could be taken.
    woken_ =
        std::any_of(queues_.begin(), queues_.end(), [](const Queue& queue) { return queue.may_have_more(); }) || woken_;
  });
}

void Claimer::note_expired() {
  tell([&] { some_expired_ = woken_ = true; });
}

void Claimer::stop() {
  stop_.request_stop();
  tell([&] { woken_ = true; });
  thread_.join(session_, std::chrono::seconds{1});
}

void Claimer::run() {
  const std::stop_token stop = stop_.get_token();
  while (!stop.stop_requested() && lease_.state() == Lease::State::held) {
    try {
      step();
      session_.succeeded();
    } catch (const std::exception& error) {  // of whatever kind: tasks that a claim took must not be forgotten
      answer_lost_ = true;
      listening_ = false;
      asleep_ = false;                                                // after a failover the row may say so
      if (dynamic_cast<const ConnectionError*>(&error) != nullptr) {  // it may be another server
        forget_watermarks();
        circuits_.forget();
      }
      look_everywhere();
      session_.recover_from(error, stop);
    }
  }
}

void Claimer::step() {
  if (answer_lost_) begin_session();
  if (settings_.sleeps && !listening_) listen();
  if (SteadyClock::now() >= give_back_unknown_at_) give_back_unknown();
  if (SteadyClock::now() >= look_for_stale_at_) give_back_stale();
  end_expired();
  if (SteadyClock::now() >= look_at_) {
    if (asleep_ && settled_) {
      look_for_missed();
    } else {
      look_everywhere();
    }
  }
  if (SteadyClock::now() >= look_soon_at_) look_soon();
  refresh_circuits();
  note_end_of_throttling();
  if (queues_may_have_changed(SteadyClock::now())) follow_queues();
  // Before claiming, since a claimer that always finds work never comes to wait; but what was only rung for can wait
  // until the claim is made.
  if (due_time_has_come()) (void)promote_due();
  wake_others_if_told();
  const bool has_claimed = claim();
  if (keep_books() || has_claimed) {
    if (listening_) hear(SteadyClock::duration{0});  // or it would pile up for as long as there is something to claim
  } else if (prepare_to_wait()) {
    wait();
  }
}

/// On the connection that claims: no other thread or session has to be woken before the claim.
void Claimer::listen() {
  for (const char* channel : {"wake", "queues", "circuits"}) session_.connection().listen(channel);
  listening_ = true;
  look_again();  // what was said before is lost
}

/// Waits until it is told something, by a notification or in this process, but no longer than `patience`.
void Claimer::hear(SteadyClock::duration patience) {
  const std::vector<db::Notification> said = session_.connection().wait(patience, wake_.fd());
  {
    const std::scoped_lock lock{mutex_};
    waits_ = woken_ = false;  // what has changed is seen to from here on
  }
  for (const db::Notification& notification : said) {
    if (notification.channel.ends_with(".wake")) {
      ring(notification.payload);
    } else {
      const std::scoped_lock lock{mutex_};
      (notification.channel.ends_with(".queues") ? queues_unknown_ : circuits_unknown_) = true;
    }
  }
}

/// An answer was lost: in a new claim session a claim or a release of before that arrives late changes nothing. Waits
/// for those that are under way.
void Claimer::begin_session() {
  ++claim_session_;
  session_.connection().run(sql::begin_claim_session, db::Params{}.add(lease_.id()).add(claim_session_));
  answer_lost_ = false;
  knows_what_it_holds_ = false;
  last_sum_ = 0;
  give_back_unknown_at_ = {};
  look_everywhere();
}

/// Every attempt that runs under this worker with its knowing; it may include some that have ended a moment ago.
std::vector<Attempt> Claimer::held() const {
  std::vector<Attempt> attempts;
  const auto add = [&](const std::vector<Attempt>& more) { attempts.insert(attempts.end(), more.begin(), more.end()); };
  for (const Queue& queue : queues_) add(queue.executor->held());
  add(completer_->held());  // after the executors: a task that moves on meanwhile is seen there
  return attempts;
}

void Claimer::refresh_circuits() {
  {
    const std::scoped_lock lock{mutex_};
    if (!std::exchange(circuits_unknown_, false)) return;
  }
  if (circuits_.any()) circuits_.refresh(session_.connection());
}

void Claimer::follow_queues() {
  queues_asked_at_ = SteadyClock::now();
  const auto all = read_queue_settings(session_.connection(), queue_names_);
  resume_at_ = SteadyClock::time_point::max();
  for (Queue& queue : queues_) {
    const auto found = all.find(queue.executor->queue());
    follow(queue, found == all.end() ? QueueSettings{} : found->second);
  }
}

/// A worker that does not listen asks each second, so that it hears when a pause ends as well.
bool Claimer::queues_may_have_changed(SteadyClock::time_point now) {
  const std::scoped_lock lock{mutex_};
  return std::exchange(queues_unknown_, false) || now >= resume_at_ ||
         (!settings_.sleeps && now >= queues_asked_at_ + oldest_queue_settings);
}

void Claimer::follow(Queue& queue, const QueueSettings& settings) {
  pause_or_resume(queue, settings);
  Executor& executor = *queue.executor;
  if (const std::size_t concurrency = settings.concurrency.value_or(queue.own_concurrency);
      concurrency != executor.concurrency()) {
    log_->info("queue {}: runs {} tasks at once from now on, not {}: {}", executor.queue(), concurrency,
               executor.concurrency(),
               settings.concurrency ? "that is set for the queue" : "as this worker was started with");
    executor.set_concurrency(concurrency);
  } else {
    executor.start_missing_threads();
  }
  const auto bound = queue.retries ? std::optional{queue.retries->settings()} : std::nullopt;
  if (settings.retry_budget == bound) return;
  queue.retries = settings.retry_budget ? std::make_unique<RetryThrottle>(*settings.retry_budget) : nullptr;
  if (settings.retry_budget) {
    log_->info("queue {}: at most {} % of what begins are retries from now on, or {} a second", executor.queue(),
               100 * settings.retry_budget->share, settings.retry_budget->min_retries_per_second);
  } else {
    log_->info("queue {}: its retries are not bounded any more", executor.queue());
  }
}

/// What was claimed ahead of its time is given back at a pause, and what runs goes on.
void Claimer::pause_or_resume(Queue& queue, const QueueSettings& settings) {
  if (settings.resumes_in) {
    resume_at_ =
        std::min(resume_at_, SteadyClock::now() + std::clamp(*settings.resumes_in, milliseconds{1}, longest_ahead));
  }
  if (settings.is_paused == queue.paused) return;
  {
    const std::scoped_lock lock{mutex_};
    queue.paused = settings.is_paused;
    queue.look_again();
    due_unknown_ = true;
  }
  if (!settings.is_paused) {
    log_->info("queue {} goes on", queue.executor->queue());
    return;
  }
  log_->info("queue {} is paused{}: nothing is claimed from it, and what runs goes on", queue.executor->queue(),
             settings.resumes_in ? " for " + duration_to_text(*settings.resumes_in) : std::string{});
  const std::vector<ClaimedTask> not_begun = queue.executor->take_back();
  if (!not_begun.empty()) release(not_begun);
}

void Claimer::note_end_of_throttling() {
  for (const Queue& queue : queues_) {
    if (!queue.retries) continue;
    if (const auto count = queue.retries->take_end(SteadyClock::now())) {
      log_->info("queue {}: its retries are within their budget again; {} times one was put off",
                 queue.executor->queue(), *count);
    }
  }
}

/// So that dogged.claims does not grow, nor the search for what this worker holds.
bool Claimer::sum_up_claims() {
  const auto now = SteadyClock::now();
  if (!knows_what_it_holds_ || claimed_since_sum_ == 0 || (claimed_since_sum_ < long_list && now < sum_up_at_)) {
    return false;
  }
  std::vector<std::int64_t> ids = unreleased_;
  for (const Attempt& attempt : held()) ids.push_back(attempt.id);
  const db::Rows sum = session_.connection().run(
      sql::sum_up_claims, db::Params{}.add(lease_.id()).add(ids).add(last_sum_).add(claim_session_));
  if (!sum.empty()) last_sum_ = sum.one().number("id");
  claimed_since_sum_ = 0;
  sum_up_at_ = now + between_sums;
  return true;
}

/// Finds out in which part of each lane there can be no more ready tasks: once all transactions have ended that may
/// have taken a position there. So it takes three calls until a position that was given out can be passed over for
/// good.
bool Claimer::settle_watermarks() {
  const auto now = SteadyClock::now();
  const bool from_beginning = settled_position_ > 0 && now >= look_through_all_at_;
  const bool walk_is_long = claimed_since_settled_ >= long_walk && some_queue_is_drained();
  const bool is_time = claimed_since_settled_ > 0 && now >= settle_at_;
  if (!from_beginning && !walk_is_long && !is_time) return false;
  if (from_beginning) look_through_all_at_ = now + between_looks_through_all;  // also where it fails
  const Positions positions = from_beginning ? Positions{settled_position_, 0} : settling_.value_or(Positions{});
  std::vector<std::string> queues;
  std::vector<std::int64_t> afters, uptos;
  std::map<std::string, Queue*, std::less<>> by_name;
  {
    const std::scoped_lock lock{mutex_};
    for (Queue& queue : queues_) {
      by_name[queue.executor->queue()] = &queue;
      Watermarks watermarks = queue.watermarks;
      if (from_beginning) watermarks.forget_settled();
      for (const auto& part : watermarks.unsettled(positions.last)) {
        queues.push_back(queue.executor->queue());
        afters.push_back(part.after);
        uptos.push_back(part.upto);
      }
    }
  }
  const db::Rows rows = session_.connection().run(
      sql::settle_watermarks,
      db::Params{}.add(queues).add(afters).add(uptos).add(names_).add(positions.next_transaction));
  {
    const std::scoped_lock lock{mutex_};
    for (Queue& queue : queues_) {
      if (from_beginning) queue.watermarks.forget_settled();
    }
    for (const db::Row& row : rows) {
      if (row.is_null("settled")) continue;
      by_name.find(row.text("queue"))->second->watermarks.settle(row.number("settled"));
    }
    for (Queue& queue : queues_) queue.watermarks.forget_claimed();
  }
  const db::Row bounds = rows[0];
  if (bounds.number("last_position") < last_position_) {  // the sequence was set back
    forget_watermarks();
    look_everywhere();
    return true;
  }
  if (bounds.number("oldest") >= positions.next_transaction) {
    settled_position_ = positions.last;
    if (last_position_ > 0) settling_ = Positions{last_position_, bounds.number("next")};
  }
  last_position_ = bounds.number("last_position");
  claimed_since_settled_ = 0;
  settle_at_ = now + between_settlings;
  if (from_beginning) {
    const auto answered_at = SteadyClock::now();
    look_through_all_at_ =
        answered_at + std::max<SteadyClock::duration>(between_looks_through_all, rarely * (answered_at - now));
  }
  return true;
}

void Claimer::forget_watermarks() {
  const std::scoped_lock lock{mutex_};
  for (Queue& queue : queues_) queue.watermarks.forget();
  settling_.reset();
  settled_position_ = 0;
  last_position_ = 0;
  look_through_all_at_ = SteadyClock::now() + between_looks_through_all;
}

/// Gives back what runs under this worker without its knowing. What somebody has locked is tried again later.
void Claimer::give_back_unknown() {
  std::vector<std::int64_t> ids, attempts;
  for (const Attempt& attempt : held()) {
    ids.push_back(attempt.id);
    attempts.push_back(attempt.number);
  }
  std::size_t released = 0;
  std::vector<TaskId> locked;
  session_.connection().transaction([&] {
    const db::Rows unknown = session_.connection().run(
        sql::release_unknown, db::Params{}.add(lease_.id()).add(ids).add(attempts).add(claim_session_));
    for (const db::Row& row : unknown) {
      if (row.boolean("released")) {
        ++released;
      } else {
        locked.push_back(row.number("id"));
      }
    }
    cancel_released(unknown);
  });
  if (released > 0) log_->warn("gives back {} tasks whose claim was in doubt", released);
  give_back_unknown_at_ = locked.empty() ? SteadyClock::time_point::max() : SteadyClock::now() + give_back_while_locked;
  unreleased_ = std::move(locked);
  knows_what_it_holds_ = true;
  if (released > 0) look_everywhere();
}

/// Tasks that were claimed ahead, for threads that are busy for longer than was foreseen.
void Claimer::give_back_stale() {
  look_for_stale_at_ = SteadyClock::now() + longest_wait_for_thread;
  std::vector<ClaimedTask> stale;
  for (const Queue& queue : queues_) {
    for (ClaimedTask& task : queue.executor->take_back_older_than(longest_wait_for_thread)) {
      stale.push_back(std::move(task));
    }
  }
  if (!stale.empty()) release(stale);
}

/// Tasks that were claimed in time, but whose time was over when a thread could begin them.
void Claimer::end_expired() {
  {
    const std::scoped_lock lock{mutex_};
    if (!std::exchange(some_expired_, false)) return;
  }
  std::vector<ClaimedTask> expired;
  for (const Queue& queue : queues_) {
    for (ClaimedTask& task : queue.executor->take_expired()) expired.push_back(std::move(task));
  }
  expire(expired);
}

/// Ends tasks without an attempt. What the database does not find over yet is given back, and claimed again.
void Claimer::expire(const std::vector<ClaimedTask>& tasks) {
  if (tasks.empty()) return;
  std::map<TaskId, const ClaimedTask*> left;  // in the order of ids, as whoever else locks several rows
  std::vector<std::int64_t> ids, attempts;
  for (const ClaimedTask& task : tasks) left[task.id] = &task;
  for (const auto& [id, task] : left) {
    ids.push_back(id);
    attempts.push_back(task->attempt);
  }
  const db::Rows ended = session_.connection().run(
      sql::expire_claimed, db::Params{}.add(lease_.id()).add(ids).add(attempts).add(claim_session_));
  for (const db::Row& row : ended) {
    log_->info("event={} task={} name={} queue={}", row.text("status"), row.number("id"), row.text("name"),
               row.text("queue"));
    circuits_.note_not_begun(*left.at(row.number("id")));
    left.erase(row.number("id"));
  }
  (void)circuits_.tell(session_.connection());
  std::vector<ClaimedTask> not_over;
  for (const auto& [id, task] : left) not_over.push_back(*task);
  if (not_over.empty()) return;
  release(not_over);
  look_everywhere();
}

/// What can wait until a claim is made: a worker that has slept for longer than a second, after which this is due,
/// would begin what it is woken for by so much later. False if nothing was due.
bool Claimer::keep_books() {
  const bool has_settled = settle_watermarks();
  const bool has_summed_up = sum_up_claims();
  const bool asks_for_queues = more_is_claimed_by_old_settings(SteadyClock::now());
  if (asks_for_queues) follow_queues();
  return has_settled || has_summed_up || asks_for_queues;
}

/// In case a notification was lost all the same.
bool Claimer::more_is_claimed_by_old_settings(SteadyClock::time_point now) const {
  if (now < queues_asked_at_ + oldest_queue_settings) return false;
  const std::scoped_lock lock{mutex_};
  return std::any_of(queues_.begin(), queues_.end(), [](const Queue& queue) { return queue.may_have_more(); });
}

/// Claims what the executors can take from queues that are not drained; false if there was nothing to ask for.
bool Claimer::claim() {
  const std::vector<Wanted> wanted = what_is_wanted();
  if (wanted.empty()) return false;
  std::vector<QueueClaim> claims;
  for (const Wanted& one : wanted) claims.push_back(one.claim);
  const db::Params params = claim_params(lease_.id(), claims, names_, claim_session_);
  const auto asked_at = SteadyClock::now();
  hand_out(wanted, session_.connection().run(sql::claim, params), asked_at);
  return true;
}

std::vector<Claimer::Wanted> Claimer::what_is_wanted() {
  std::vector<Wanted> wanted;
  if (!completer_->is_ready() || completer_->backlog() >= max_backlog) return wanted;
  const std::scoped_lock lock{mutex_};
  for (Queue& queue : queues_) {
    const std::size_t demand = queue.may_have_more() ? queue.executor->demand() : 0;
    if (demand == 0) continue;
    wanted.push_back({&queue,
                      {.queue = queue.executor->queue(),
                       .how_many = demand,
                       .ranges = queue.watermarks.ranges(),
                       .of_all = !queue.watermarks.passes_over_claimed()}});
    queue.drained = true;  // unless the answer says otherwise, or someone rings meanwhile
  }
  return wanted;
}

/// Gives claimed tasks to their executors in order (RETURNING has none), and notes how far each queue was emptied.
void Claimer::hand_out(const std::vector<Wanted>& wanted, const db::Rows& rows, SteadyClock::time_point asked_at) {
  const auto claimed_at = SteadyClock::now();
  if (!rows.empty() && claimed_at < awake_until_) {
    awake_until_ = claimed_at + awake_without_find;
    look_soon_wait_ = shortest_look_soon;
  }
  claimed_since_sum_ += rows.size();
  claimed_since_settled_ += rows.size();
  std::map<std::string, std::vector<std::pair<Place, ClaimedTask>>, std::less<>> by_queue;
  for (const db::Row& row : rows) {
    ClaimedTask task;
    task.id = row.number("id");
    task.attempt = static_cast<int>(row.number("attempt"));
    task.retry_count = static_cast<int>(row.number("retry_count"));
    task.losses = static_cast<int>(row.number("losses"));
    task.definition = &definitions_.find(row.text("name"))->second;
    task.queue = row.text("queue");
    task.args_json = row.text("args");
    task.trace_context = row.maybe_text("trace_context").value_or("");
    task.claimed_at = claimed_at;
    if (const auto left_ms = row.maybe_number("expires_in_ms")) {
      task.expires_at = asked_at + std::clamp(milliseconds{*left_ms}, milliseconds{0}, longest_ahead);
    }
    const Place place = row.number("place");
    by_queue[task.queue].emplace_back(place, std::move(task));
  }
  for (const Wanted& one : wanted) {
    auto& claimed = by_queue[one.queue->executor->queue()];
    std::sort(claimed.begin(), claimed.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    {
      const std::scoped_lock lock{mutex_};
      for (const auto& [place, task] : claimed) one.queue->watermarks.note_claimed(place);
      if (claimed.size() >= one.claim.how_many) {
        one.queue->drained = false;
      } else if (one.claim.of_all) {
        one.queue->watermarks.forget_claimed();
      } else {
        one.queue->look_again();  // in what was passed over there may be more
      }
    }
    std::vector<ClaimedTask> tasks, expired;
    for (auto& [place, task] : claimed) (task.expires_at <= claimed_at ? expired : tasks).push_back(std::move(task));
    expire(expired);
    std::set<std::string_view> open_circuits;
    if (circuits_.any()) open_circuits = put_off_open(tasks);
    if (one.queue->retries) {
      put_off_retries(*one.queue, tasks);  // after the circuits: what may not begin spends nothing of the budget
      for (std::size_t i = 0; i < tasks.size(); ++i) one.queue->retries->note_execution(claimed_at);
    }
    if (!tasks.empty()) one.queue->executor->submit(std::move(tasks));
    const bool has_more = claimed.size() >= one.claim.how_many;
    if (has_more && !open_circuits.empty()) {
      put_off_ready(one.queue->executor->queue(), open_circuits, claimed.front().first);
    }
  }
}

/// Nothing can be claimed now: sees to it that what changes that will be heard of. False if there is reason to look
/// again at once.
bool Claimer::prepare_to_wait() {
  if (!settings_.sleeps) {
    // Nothing to be heard of: the poll interval is what it waits.
  } else if (!some_queue_is_drained()) {
    if (asleep_) {  // there is more than this worker can take: it needs no one to tell it
      session_.connection().run(sql::wake_up, db::Params{}.add(lease_.id()));
      asleep_ = false;
    }
  } else if (stays_awake()) {
    if (asleep_) session_.connection().run(sql::wake_up, db::Params{}.add(lease_.id()));
    asleep_ = false;
    ask_due_at_ =
        std::min(ask_due_at_, SteadyClock::now() + ask_due_while_awake);  // nobody notifies of what is delayed
    look_soon_at_ = std::min(look_soon_at_, SteadyClock::now() + look_soon_wait_);
  } else if (!asleep_) {
    fall_asleep();
    return false;
  } else if (!settled_) {
    settled_ = session_.connection().run(sql::oldest_transaction).one().number("oldest") >= asleep_since_transaction_;
    look_at_ = std::min(look_at_, SteadyClock::now() + (settled_ ? SteadyClock::duration{0} : until_settled()));
  }
  return !((due_is_unknown() || due_time_has_come()) && promote_due());
}

/// Whether it is rung so often, or was a moment ago, that it had better look by itself.
bool Claimer::stays_awake() {
  const auto now = SteadyClock::now();
  const std::scoped_lock lock{mutex_};
  if (rings_ >= often && now - counting_since_ <= 2 * counting_time) {
    rings_ = 0;
    awake_until_ = now + awake_without_find;
    look_soon_wait_ = shortest_look_soon;
  }
  return now < awake_until_;
}

void Claimer::look_soon() {
  const std::scoped_lock lock{mutex_};
  for (Queue& queue : queues_) queue.look_again();
  look_soon_at_ = SteadyClock::time_point::max();
  look_soon_wait_ = std::min(look_soon_wait_ * 2, longest_look_soon);
}

bool Claimer::due_time_has_come() const {
  const std::scoped_lock lock{mutex_};
  return SteadyClock::now() >= std::min(due_at_, ask_due_at_);
}

bool Claimer::due_is_unknown() const {
  const std::scoped_lock lock{mutex_};
  return due_unknown_;
}

void Claimer::fall_asleep() {
  session_.connection().run(sql::fall_asleep, db::Params{}.add(lease_.id()));
  asleep_ = true;
  const db::Rows bounds = session_.connection().run(sql::transaction_bounds);
  asleep_since_transaction_ = bounds.one().number("next");
  settled_ = bounds.one().number("oldest") >= asleep_since_transaction_;
  asleep_at_ = SteadyClock::now();
  look_everywhere();  // for what was committed before the flag was seen
  if (!settled_) look_at_ = SteadyClock::now() + until_settled();
}

/// How long to wait for the transactions that could have missed that it sleeps: as long again as it has waited for
/// them.
SteadyClock::duration Claimer::until_settled() const {
  const auto longest = std::max<SteadyClock::duration>(settings_.poll_interval, first_settle_wait);
  return std::clamp<SteadyClock::duration>(SteadyClock::now() - asleep_at_, first_settle_wait, longest);
}

/// Makes ready what has fallen due, and asks when the earliest waiting task is, unless it is known that one is now;
/// true if there was such a task.
bool Claimer::promote_due() {
  const auto now = SteadyClock::now();
  bool is_known = false;
  {
    const std::scoped_lock lock{mutex_};
    is_known = now >= due_at_;
    due_unknown_ = false;  // before asking: what is enqueued or scheduled meanwhile sets these again
    due_at_ = SteadyClock::time_point::max();
  }
  const bool looks_by_itself = now < awake_until_ && some_queue_is_drained();
  const bool all_are_paused =
      std::all_of(queues_.begin(), queues_.end(), [](const Queue& queue) { return queue.paused; });
  ask_due_at_ = now + (asleep_ || all_are_paused ? settings_.poll_interval
                       : looks_by_itself         ? ask_due_while_awake
                                                 : ask_due_while_busy);
  if (is_known && promote()) return true;
  const auto due_in = look({}).due_in;
  if (!due_in) return false;
  if (*due_in > milliseconds{0}) {
    const std::scoped_lock lock{mutex_};
    due_at_ = std::min(due_at_, SteadyClock::now() + std::min(*due_in, longest_ahead));
    return false;
  }
  if (!promote()) {
    const std::scoped_lock lock{mutex_};
    for (Queue& queue : queues_) queue.look_again();  // somebody else is at it
    due_at_ = std::min(due_at_, SteadyClock::now() + while_others_promote);
  }
  return true;
}

/// False if nothing is due, or somebody else has locked it.
bool Claimer::promote() {
  const db::Rows promoted = session_.connection().run(sql::promote, db::Params{}.add(queue_names_));
  if (promoted.affected() == 0) return false;
  const std::scoped_lock lock{mutex_};
  for (Queue& queue : queues_) queue.look_again();
  others_to_wake_ = true;
  due_unknown_ = true;  // there may be more than one batch
  return true;
}

void Claimer::wake_others_if_told() {
  {
    const std::scoped_lock lock{mutex_};
    if (!std::exchange(others_to_wake_, false)) return;
  }
  try {
    session_.connection().run(sql::wake_others, db::Params{}.add(lease_.id()).add(queue_names_));
  } catch (...) {
    const std::scoped_lock lock{mutex_};
    others_to_wake_ = true;
    throw;
  }
}

void Claimer::wait() {
  auto until = std::min({look_at_, ask_due_at_, give_back_unknown_at_, look_soon_at_, resume_at_});
  const bool holds_waiting =
      std::any_of(queues_.begin(), queues_.end(), [](const Queue& queue) { return queue.executor->has_waiting(); });
  if (holds_waiting) until = std::min(until, look_for_stale_at_);
  if (!settings_.sleeps) until = std::min(until, queues_asked_at_ + oldest_queue_settings);
  {
    const std::scoped_lock lock{mutex_};
    waits_ = !woken_ && !due_unknown_;
    until = waits_ ? std::min(until, due_at_) : SteadyClock::time_point{};
  }
  hear(until - SteadyClock::now());
}

bool Claimer::some_queue_is_drained() const {
  const std::scoped_lock lock{mutex_};
  return std::any_of(queues_.begin(), queues_.end(), [](const Queue& queue) { return queue.is_empty(); });
}

void Claimer::look_everywhere() {
  const std::scoped_lock lock{mutex_};
  for (Queue& queue : queues_) queue.look_again();
  due_unknown_ = true;  // nobody notifies of a delayed task while this worker is awake
  circuits_unknown_ = true;
  queues_unknown_ = true;
  look_at_ = SteadyClock::now() + settings_.poll_interval;
}

/// It sleeps, and nobody has told it of anything: is there something all the same?
void Claimer::look_for_missed() {
  std::vector<QueueClaim> drained;
  {
    const std::scoped_lock lock{mutex_};
    for (const Queue& queue : queues_) {
      queues_unknown_ = queues_unknown_ || queue.paused;  // nothing else asks whether it goes on
      if (!queue.is_empty()) continue;
      Watermarks watermarks = queue.watermarks;
      watermarks.forget_claimed();
      drained.push_back({.queue = queue.executor->queue(), .ranges = watermarks.ranges()});
    }
    circuits_unknown_ = true;
    due_unknown_ = false;  // before asking, as in promote_due
  }
  look_at_ = ask_due_at_ = SteadyClock::now() + settings_.poll_interval;
  const Found found = look(drained);
  if (found.has_ready) look_everywhere();
  if (!found.due_in) return;
  const std::scoped_lock lock{mutex_};
  due_at_ = std::min(due_at_, SteadyClock::now() + std::min(*found.due_in, longest_ahead));
}

/// What is ready is looked for where a claim would look.
Claimer::Found Claimer::look(const std::vector<QueueClaim>& for_ready) {
  std::vector<std::string> queues;
  std::vector<std::int64_t> afters, uptos;
  for (const QueueClaim& one : for_ready) {
    for (const Watermarks::Range& range : one.ranges) {
      queues.push_back(one.queue);
      afters.push_back(range.after);
      uptos.push_back(range.upto);
    }
  }
  const db::Rows rows = session_.connection().run(
      sql::look, db::Params{}.add(queues).add(afters).add(uptos).add(names_).add(queue_names_));
  const db::Row row = rows.one();
  Found found{.has_ready = row.boolean("has_ready")};
  if (const auto ms = row.maybe_number("due_in_ms")) found.due_in = milliseconds{*ms};
  return found;
}

void Claimer::release(const std::vector<ClaimedTask>& tasks) { note_released(tasks, give_up(tasks)); }

/// Gives back what still runs under this worker, and wakes others for it. The rest: attempts by their tasks.
std::map<TaskId, int> Claimer::give_up(const std::vector<ClaimedTask>& tasks) {
  std::map<TaskId, int> in_order;  // of ids, as whoever else locks several rows
  for (const ClaimedTask& task : tasks) in_order[task.id] = task.attempt;
  std::vector<std::int64_t> ids, attempts;
  for (const auto& [id, attempt] : in_order) {
    ids.push_back(id);
    attempts.push_back(attempt);
  }
  session_.connection().transaction([&] {
    const db::Rows released = session_.connection().run(
        sql::release, db::Params{}.add(lease_.id()).add(ids).add(attempts).add(claim_session_));
    cancel_released(released);
    for (const db::Row& row : released) in_order.erase(row.number("id"));
    session_.connection().run(sql::wake_others, db::Params{}.add(lease_.id()).add(queue_names_));
  });
  return in_order;
}

void Claimer::note_released(const std::vector<ClaimedTask>& tasks, const std::map<TaskId, int>& not_released) {
  for (const ClaimedTask& task : tasks) circuits_.note_not_begun(task);
  if (!not_released.empty()) explain_not_released(not_released);
  (void)circuits_.tell(session_.connection());
}

/// Takes out of `tasks` the retries that the queue's budget has no room for, and puts them off.
void Claimer::put_off_retries(Queue& queue, std::vector<ClaimedTask>& tasks) {
  const bool held_back_before = queue.retries->holds_back();
  std::vector<Circuits::PutOff> over_budget;
  std::vector<ClaimedTask> kept;
  for (ClaimedTask& task : tasks) {
    const auto wait = task.retry_count > 0 ? queue.retries->ask(task.claimed_at, random_draw()) : std::nullopt;
    if (wait) {
      circuits_.note_not_begun(task);  // its circuit may have let it through as a probe
      over_budget.push_back({std::move(task), *wait});
    } else {
      kept.push_back(std::move(task));
    }
  }
  tasks = std::move(kept);
  if (over_budget.empty()) return;
  if (!held_back_before) {
    log_->warn("queue {}: more than {} % of what begins would be retries, and more than {} a second: further ones wait",
               queue.executor->queue(), 100 * queue.retries->settings().share,
               queue.retries->settings().min_retries_per_second);
  }
  const std::size_t throttled = over_budget.size();
  put_off(std::move(over_budget));
  for (std::size_t i = 0; i < throttled; ++i) retry_metrics().retry_throttled(queue.executor->queue());
}

/// Takes out of `tasks` those whose circuit is open, and puts them off. Gives their circuits.
std::set<std::string_view> Claimer::put_off_open(std::vector<ClaimedTask>& tasks) {
  std::vector<Circuits::PutOff> of_open = circuits_.take_put_off(session_.connection(), tasks);
  std::set<std::string_view> circuits;
  for (const auto& [task, wait] : of_open) circuits.insert(task.definition->circuit);
  if (!of_open.empty()) put_off(std::move(of_open));
  return circuits;
}

void Claimer::put_off(std::vector<Circuits::PutOff> tasks) {
  std::sort(tasks.begin(), tasks.end(), [](const auto& a, const auto& b) { return a.task.id < b.task.id; });
  std::vector<std::int64_t> ids, attempts, waits_ms;
  std::map<TaskId, int> not_put_off;
  for (const auto& [task, wait] : tasks) {
    ids.push_back(task.id);
    attempts.push_back(task.attempt);
    waits_ms.push_back(wait.count());
    not_put_off[task.id] = task.attempt;
    note_due(wait);
  }
  session_.connection().transaction([&] {
    const db::Rows rows = session_.connection().run(
        sql::put_off, db::Params{}.add(lease_.id()).add(ids).add(attempts).add(claim_session_).add(waits_ms));
    cancel_released(rows);
    for (const db::Row& row : rows) not_put_off.erase(row.number("id"));
  });
  if (!not_put_off.empty()) explain_not_released(not_put_off);
}

/// Where a queue has more from a place on, those of open circuits are put off as they stand: else each claim would
/// bring only others that may not begin. With 100,000 of them and 10 threads all were claimed once, in 11 s; so it is 1
/// in 100, in 1.3 s.
void Claimer::put_off_ready(const std::string& queue, const std::set<std::string_view>& circuits, Place from) {
  for (const std::string_view name : circuits) {
    if (!circuits_.is_open(name)) continue;
    const db::Rows rows = session_.connection().run(
        sql::put_off_ready, db::Params{}.add(queue).add(circuits_.tasks_of(name)).add(name).add(from));
    log_->debug("put off {} more tasks of queue {}, whose circuit {} is open", rows.affected(), queue, name);
  }
}

/// Tasks by id, with their attempts, that could not be given back. Somebody has locked the row: it is tried again. Or
/// the worker does not hold the task any more.
void Claimer::explain_not_released(const std::map<TaskId, int>& attempts) {
  std::vector<std::int64_t> ids, numbers;
  for (const auto& [id, attempt] : attempts) {
    ids.push_back(id);
    numbers.push_back(attempt);
  }
  const db::Params params = db::Params{}.add(lease_.id()).add(ids).add(numbers);
  for (const db::Row& row : session_.connection().run(sql::who_holds, params)) {
    if (row.boolean("is_mine")) {
      give_back_unknown_at_ = SteadyClock::now() + give_back_while_locked;
      unreleased_.push_back(row.number("id"));
      continue;
    }
    const bool is_given_back =
        row.maybe_text("status") == "pending" && row.number("task_attempt") == row.number("attempt") - 1;
    if (is_given_back) continue;  // by an earlier try, whose answer was lost
    ++tally_->fenced;
    log_->warn("task {} attempt {}: worker {} does not hold it any more, and giving it back changed nothing: {}",
               row.number("id"), row.number("attempt"), lease_.id(), whose_it_is(row));
  }
}

/// A task whose cancellation was requested after it was claimed is pending again, and can be cancelled at once.
void Claimer::cancel_released(const db::Rows& released) {
  std::vector<TaskId> ids;
  for (const db::Row& row : released) {
    if (row.boolean("cancel_requested")) ids.push_back(row.number("id"));
  }
  if (!ids.empty()) session_.connection().run(sql::cancel_tasks, db::Params{}.add(ids));
}

bool Claimer::give_back(const std::vector<ClaimedTask>& tasks, SteadyClock::time_point until) {
  const auto nothing_left = SteadyClock::time_point::max();
  bool given = tasks.empty();
  while (answer_lost_ || !given || give_back_unknown_at_ != nothing_left) {
    const auto now = SteadyClock::now();
    if (now >= until) return false;
    try {
      if (answer_lost_) begin_session();
      if (!given) {
        const std::map<TaskId, int> not_released = give_up(tasks);
        given = true;  // whatever happens now: a second time it would find them in others' hands, and say so
        note_released(tasks, not_released);
      }
      if (now >= give_back_unknown_at_) give_back_unknown();
      if (give_back_unknown_at_ != nothing_left) session_.pause(give_back_while_locked, {});
    } catch (const std::exception& error) {
      session_.recover_from(error, {});
    }
  }
  return true;
}

}  // namespace dogged::runtime
