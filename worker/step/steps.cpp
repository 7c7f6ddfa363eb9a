// See steps.hpp.
#include "step/steps.hpp"

#include <exception>
#include <utility>

#include <dogged/detail/names.hpp>
#include <dogged/error.hpp>
#include <dogged/retry_options.hpp>
#include <dogged/steps.hpp>

#include "client/passing_error.hpp"
#include "sql/step.hpp"
#include "step/core/record_plan.hpp"
#include "step/core/wait_plan.hpp"

namespace dogged::runtime {

namespace {

sql::RecordedStep recorded_step(const Attempt& attempt, const std::string& name, std::int64_t worker_id) {
  return {.name = name, .task_id = attempt.id, .attempt = attempt.number, .worker_id = worker_id};
}

/// A newer version of a program may have given the name to something else.
[[noreturn]] void throw_other_kind(const Attempt& attempt, const std::string& name, const std::string& on_record,
                                   std::string_view wanted) {
  const auto with_article = [](std::string_view kind) { return (kind == "event" ? "an " : "a ") + std::string{kind}; };
  throw TaskError{codes::invalid_step, "\"" + name + "\" of task " + std::to_string(attempt.id) + " is on record as " +
                                           with_article(on_record) + ", and this program uses the name for " +
                                           with_article(wanted) +
                                           ": give it another name, or replay the task with its steps run again"};
}

bool is_own_record(const std::vector<sql::RecordedStep::Row>& rows, const Attempt& attempt) {
  return !rows.empty() && rows.front().attempt == attempt.number;
}

}  // namespace

void Steps::throw_lost(const Attempt& attempt, const std::string& name) const {
  throw LeaseLost("attempt " + std::to_string(attempt.number) + " of task " + std::to_string(attempt.id) +
                      " is not held by worker " + std::to_string(worker_id_) + " any more: its step \"" + name +
                      "\" is not recorded",
                  "let the handler end: the worker that holds the task now runs the step");
}

std::optional<std::string> Steps::recorded(const Attempt& attempt, const std::string& name, KnownSteps& known,
                                           const std::stop_token& stop) {
  while (true) {
    switch (known.next(name)) {
      case KnownSteps::Ask::names:
        known.on_names(names_on_record(attempt, name, stop));
        break;
      case KnownSteps::Ask::result:
        return result_on_record(attempt, name, stop);
      case KnownSteps::Ask::nothing:
        known.note_begun(name);
        return std::nullopt;
    }
  }
}

std::set<std::string> Steps::names_on_record(const Attempt& attempt, const std::string& name,
                                             const std::stop_token& stop) {
  auto rows = session_->ask(
      [&] {
        return sql::NamesOfSteps{
            .most = KnownSteps::most_names, .task_id = attempt.id, .attempt = attempt.number, .worker_id = worker_id_};
      },
      stop);
  if (rows.empty()) throw_lost(attempt, name);
  std::set<std::string> names;
  for (auto& row : rows) {
    if (row.name) names.insert(std::move(*row.name));
  }
  return names;
}

std::optional<std::string> Steps::result_on_record(const Attempt& attempt, const std::string& name,
                                                   const std::stop_token& stop) {
  auto rows = session_->ask([&] { return recorded_step(attempt, name, worker_id_); }, stop);
  if (rows.empty()) throw_lost(attempt, name);
  if (rows.front().waits_for) throw_other_kind(attempt, name, *rows.front().waits_for, "step");
  return std::move(rows.front().result);
}

void Steps::record(const Attempt& attempt, const std::string& name, const std::string& result_json, TimePoint began_at,
                   const std::stop_token& stop) {
  RecordPlan plan;
  const auto talk = [&](db::Connection& connection) {
    while (true) {
      switch (plan.next()) {
        case RecordPlan::Step::record:
          plan.on_sent();
          plan.on_answer(write_record(connection, attempt, name, result_json, began_at));
          break;
        case RecordPlan::Step::look:
          plan.on_look(is_own_record(connection.run(recorded_step(attempt, name, worker_id_)), attempt));
          break;
        case RecordPlan::Step::recorded:
          return true;
        case RecordPlan::Step::lost:
          return false;
      }
    }
  };
  if (!session_->converse(talk, stop)) throw_lost(attempt, name);
}

bool Steps::write_record(db::Connection& connection, const Attempt& attempt, const std::string& name,
                         const std::string& result_json, TimePoint began_at) const {
  const auto ago = std::chrono::duration_cast<std::chrono::microseconds>(SteadyClock::now() - began_at);
  const sql::RecordStep record{.name = name,
                               .began_us_ago = ago.count(),
                               .result = result_json,
                               .task_id = attempt.id,
                               .attempt = attempt.number,
                               .worker_id = worker_id_};
  return !connection.run(record).empty();
}

std::optional<std::string> Steps::wait(const Attempt& attempt, const std::string& name, detail::WaitFor what,
                                       milliseconds time, TimePoint began_at,
                                       const std::optional<std::string>& own_trace, const std::stop_token& stop) {
  const auto statement = [&] {
    const auto ran = std::chrono::duration_cast<std::chrono::microseconds>(SteadyClock::now() - began_at);
    return sql::WaitDurably{.task_id = attempt.id,
                            .attempt = attempt.number,
                            .worker_id = worker_id_,
                            .name = name,
                            .for_event = what == detail::WaitFor::event,
                            .wait_ms = time.count(),
                            .ran_us = ran.count(),
                            .own_trace = own_trace};
  };
  WaitPlan plan;
  sql::WaitDurably::Row answer;
  while (true) {
    const auto [step, until] = plan.next(SteadyClock::now(), stop.stop_requested());
    switch (step) {
      case WaitPlan::Step::ask:
        answer = db::one(session_->ask(statement, stop));
        plan.on_answer(wait_answer_from_text(answer.state), SteadyClock::now());
        break;
      case WaitPlan::Step::pause:
        (void)wait_or_stop(until - SteadyClock::now(), stop);
        break;
      case WaitPlan::Step::over:
        return std::move(answer.payload);
      case WaitPlan::Step::suspended:
        throw Suspended{milliseconds{answer.left_ms.value_or(0)},
                        what == detail::WaitFor::event ? "waits for the event " + name : "sleeps (" + name + ")"};
      case WaitPlan::Step::cancelled:
        throw Stopped("the task is to be cancelled, and does not wait for \"" + name + "\"");
      case WaitPlan::Step::at_limit:
        throw TaskError{codes::invalid_step, "the task has begun " + std::to_string(attempt.number) +
                                                 " attempts, and must not wait for \"" + name +
                                                 "\": a task waits no more after 10000"};
      case WaitPlan::Step::other_kind:
        throw_other_kind(attempt, name, answer.on_record.value_or("step"),
                         what == detail::WaitFor::event ? "event" : "sleep");
      case WaitPlan::Step::stopped:
        throw Stopped("the handler was asked to stop, and does not wait for \"" + name + "\"");
      case WaitPlan::Step::lost:
        throw_lost(attempt, name);
    }
  }
}

std::optional<std::string> Steps::last_checkpoint(const Attempt& attempt, const std::string& name,
                                                  const std::stop_token& stop) {
  auto rows = session_->ask(
      [&] {
        return sql::LastCheckpoint{
            .name = name, .task_id = attempt.id, .attempt = attempt.number, .worker_id = worker_id_};
      },
      stop);
  if (rows.empty()) throw_lost(attempt, name);
  return std::move(rows.front().value);
}

void Steps::save_checkpoint(const Attempt& attempt, const std::string& name, const std::string& value_json,
                            const std::stop_token& stop) {
  const auto rows = session_->ask(
      [&] {
        return sql::SaveCheckpoint{.name = name,
                                   .value = value_json,
                                   .task_id = attempt.id,
                                   .attempt = attempt.number,
                                   .worker_id = worker_id_};
      },
      stop);
  if (rows.empty()) throw_lost(attempt, name);
}

}  // namespace dogged::runtime
