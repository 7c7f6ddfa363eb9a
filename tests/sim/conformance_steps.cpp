// The statements of steps, waits, events and progress, on the model and on PostgreSQL. See comparison.hpp.
#include <algorithm>
#include <map>
#include <set>
#include <string>

#include <dogged/error.hpp>

#include "comparison.hpp"
#include "sql/lease.hpp"
#include "sql/step.hpp"

namespace dogged::sim {
namespace {

const std::vector<std::string> step_names{"one", "two"};
const std::vector<std::string> event_names{"event:a", "event:b"};
const std::string sleep_name = "sleep";

/// As task_steps has it.
std::string result_of(const std::string& name, const StepRow& step) {
  const bool is_wait = name == sleep_name || name.starts_with("event:");
  if (!is_wait) return std::to_string(*step.value);
  return step.value ? "{\"payload\": " + std::to_string(*step.value) + "}" : "{}";
}

std::string text_of(const std::optional<std::int64_t>& payload) { return payload ? std::to_string(*payload) : "none"; }

}  // namespace

const std::string& Comparison::any_of(const std::vector<std::string>& names) {
  return names[static_cast<std::size_t>(scheduler_.pick(0, static_cast<std::int64_t>(names.size()) - 1))];
}

std::optional<Comparison::Running> Comparison::any_running() {
  const auto id = any_task(Task::State::running);
  if (!id) return std::nullopt;
  const Task& task = model_.tasks().at(*id);
  const std::int64_t worker = scheduler_.chance(85) ? task.worker : any_worker();
  return Running{worker, {*id, task.attempt - (scheduler_.chance(10) ? 1 : 0)}};
}

bool Comparison::has_steps(const Attempt& attempt) const {
  const StepRows& steps = model_.durable().steps;
  return std::any_of(steps.begin(), steps.end(), [&attempt](const auto& step) {
    return step.first.first == attempt.id && step.second.contains(attempt.number);
  });
}

void Comparison::ask_for_record() {
  const auto running = any_running();
  if (!running) return;
  const auto& [worker, attempt] = *running;
  const std::string& name = any_of(step_names);
  note("worker " + std::to_string(worker) + " asks for the step " + name + " of " + std::to_string(attempt.id) + "/" +
       std::to_string(attempt.number));
  const Database::Recorded model = model_.recorded_step(worker, attempt, name);
  const auto postgres = postgres_.run(
      sql::RecordedStep{.name = name, .task_id = attempt.id, .attempt = attempt.number, .worker_id = worker});
  require_alike("is held", model.is_held, !postgres.empty());
  if (!model.is_held) return;
  require_alike("recorded", model.step ? std::optional{result_of(name, *model.step)} : std::nullopt,
                postgres.front().result);
  require_alike("by attempt", model.step ? std::optional{model.attempt} : std::nullopt, postgres.front().attempt);
}

void Comparison::ask_for_names() {
  const auto running = any_running();
  if (!running) return;
  const auto& [worker, attempt] = *running;
  note("worker " + std::to_string(worker) + " asks for the names of the steps of " + std::to_string(attempt.id) + "/" +
       std::to_string(attempt.number));
  const std::optional<std::set<std::string>> model = model_.names_of_steps(worker, attempt);
  const auto postgres = postgres_.run(
      sql::NamesOfSteps{.most = 1000, .task_id = attempt.id, .attempt = attempt.number, .worker_id = worker});
  require_alike("is held", model.has_value(), !postgres.empty());
  if (!model) return;
  std::set<std::string> names;
  for (const auto& row : postgres) {
    if (row.name) names.insert(*row.name);
  }
  require_alike("names", *model, names);
}

void Comparison::record_step() {
  const auto running = any_running();
  if (!running) return;
  const auto& [worker, attempt] = *running;
  const std::string& name = any_of(step_names);
  // PostgreSQL takes a second record of one attempt. A worker sends none: after a lost answer it asks first.
  if (!recorded_.emplace(attempt.id, attempt.number, name).second) return;
  const std::int64_t value = ++last_value_;
  note("worker " + std::to_string(worker) + " records the step " + name + " of " + std::to_string(attempt.id) + "/" +
       std::to_string(attempt.number));
  const bool model = model_.record_step(worker, attempt, name, value);
  const auto postgres = postgres_.run(sql::RecordStep{.name = name,
                                                      .began_us_ago = 0,
                                                      .result = std::to_string(value),
                                                      .task_id = attempt.id,
                                                      .attempt = attempt.number,
                                                      .worker_id = worker});
  require_alike("recorded", model, !postgres.empty());
}

void Comparison::ask_for_checkpoint() {
  const auto running = any_running();
  if (!running) return;
  const auto& [worker, attempt] = *running;
  const std::string& name = any_of(step_names);
  note("worker " + std::to_string(worker) + " asks for the place of the loop " + name + " of " +
       std::to_string(attempt.id) + "/" + std::to_string(attempt.number));
  const Database::LastCheckpoint model = model_.last_checkpoint(worker, attempt, name);
  const auto postgres = postgres_.run(
      sql::LastCheckpoint{.name = name, .task_id = attempt.id, .attempt = attempt.number, .worker_id = worker});
  require_alike("is held", model.is_held, !postgres.empty());
  if (!model.is_held) return;
  require_alike("place", model.row ? std::optional{std::to_string(model.row->place)} : std::nullopt,
                postgres.front().value);
}

void Comparison::save_checkpoint() {
  const auto running = any_running();
  if (!running) return;
  const auto& [worker, attempt] = *running;
  const std::string& name = any_of(step_names);
  const std::int64_t place = scheduler_.pick(1, 9);
  note("worker " + std::to_string(worker) + " saves the place " + std::to_string(place) + " of the loop " + name +
       " of " + std::to_string(attempt.id) + "/" + std::to_string(attempt.number));
  const bool model = model_.save_checkpoint(worker, attempt, name, place);
  const auto postgres = postgres_.run(sql::SaveCheckpoint{.name = name,
                                                          .value = std::to_string(place),
                                                          .task_id = attempt.id,
                                                          .attempt = attempt.number,
                                                          .worker_id = worker});
  require_alike("saved", model, !postgres.empty());
}

/// Of tasks that have ended too: a keeper may write late.
void Comparison::write_progress() {
  Progress said;
  sql::WriteProgress statement;
  std::string text = "a worker writes progress";
  for (const auto& [id, task] : model_.tasks()) {
    if (task.state == Task::State::pending || !scheduler_.chance(task.state == Task::State::running ? 60 : 15))
      continue;
    const int attempt = task.attempt + (scheduler_.chance(25) ? static_cast<int>(scheduler_.pick(-1, 1)) : 0);
    const std::int64_t value = ++last_value_;
    said[{id, attempt}] = value;
    statement.ids.push_back(id);
    statement.attempts.push_back(attempt);
    statement.millionths.push_back(scheduler_.chance(80) ? std::optional{value} : std::nullopt);
    statement.messages.push_back(std::to_string(value));
    statement.ages_us.push_back(0);
    text += " " + std::to_string(id) + "/" + std::to_string(attempt);
  }
  if (said.empty()) return;
  note(text);
  model_.write_progress(said);
  postgres_.run(std::move(statement));
}

/// In a transaction of its own. Elsewhere than here it would wait for a locked row.
void Comparison::step_in() {
  const auto running = any_running();
  if (!running || would_wait(running->attempt.id)) return;
  const auto& [worker, attempt] = *running;
  const std::string& name = any_of(step_names);
  const std::int64_t value = ++last_value_;
  note("worker " + std::to_string(worker) + " records the step " + name + " of " + std::to_string(attempt.id) + "/" +
       std::to_string(attempt.number) + " in the handler's transaction");
  recorded_.emplace(attempt.id, attempt.number, name);
  std::string postgres;
  try {
    (void)postgres_.run(
        {"step_in", "select dogged.step_in($1::bigint, $2::int, $3::bigint, $4::text, $5::text::jsonb, 0)"},
        db::Params{}
            .add(attempt.id)
            .add(std::int64_t{attempt.number})
            .add(worker)
            .add(name)
            .add(std::to_string(value)));
  } catch (const DatabaseError& error) {
    postgres = error.sqlstate();
  }
  static const std::map<Database::StepIn, std::string> sqlstates{{Database::StepIn::recorded, ""},
                                                                 {Database::StepIn::lost, "LE001"},
                                                                 {Database::StepIn::twice, "ST001"},
                                                                 {Database::StepIn::locked, "waits"}};
  require_alike("step_in", sqlstates.at(model_.step_in(worker, attempt, name, value)), postgres);
}

void Comparison::wait_durably() {
  const auto running = any_running();
  if (!running) return;
  const auto& [worker, attempt] = *running;
  const bool for_event = scheduler_.chance(70);
  const std::string name = for_event ? any_of(event_names) : sleep_name;
  note("worker " + std::to_string(worker) + " waits for " + name + " in " + std::to_string(attempt.id) + "/" +
       std::to_string(attempt.number));
  const auto postgres = db::one(postgres_.run(sql::WaitDurably{.task_id = attempt.id,
                                                               .attempt = attempt.number,
                                                               .worker_id = worker,
                                                               .name = name,
                                                               .for_event = for_event,
                                                               .wait_ms = milliseconds{delay}.count(),
                                                               .ran_us = 0,
                                                               .own_trace = {}}));
  const Database::Wait model = model_.wait_durably(worker, attempt, name, for_event, delay);
  const auto minutes_of = [](const std::optional<std::int64_t>& ms) {
    return ms ? std::optional{in_minutes(milliseconds{*ms})} : std::nullopt;
  };
  require_alike("the answer to the wait", std::string{runtime::to_text(model.answer)}, postgres.state);
  require_alike("payload", text_of(model.payload), postgres.payload.value_or("none"));
  require_alike("left", model.left ? std::optional{in_minutes(*model.left)} : std::nullopt,
                minutes_of(postgres.left_ms));
}

/// Stays open, so that other statements meet it. Nothing where PostgreSQL would wait.
void Comparison::emit() {
  if (emitting_) return;
  const std::string& name = any_of(event_names);
  const std::int64_t position_before = model_.last_position();
  std::optional<Database::Emission> emission = model_.emit(name, last_value_ + 1);
  if (!emission) return;
  note("emit " + name);
  emitter_.run({"begin", "begin"});
  const test::Rows rows = emitter_.run({"emit", "select dogged.emit($1::text, $2::text::jsonb) as resumed"},
                                       db::Params{}.add(name).add(std::to_string(++last_value_)));
  require_alike("resumed", static_cast<std::int64_t>(emission->resumed.size()), rows.one().number("resumed"));
  emitting_ = std::move(emission);
  last_position_before_emit_ = position_before;
}

void Comparison::end_emit() {
  if (!emitting_) return;
  const bool commits = scheduler_.chance(80);
  note((commits ? "commit the emit of " : "roll back the emit of ") + emitting_->name);
  emitter_.run(commits ? db::Statement{"commit", "commit"} : db::Statement{"rollback", "rollback"});
  if (commits) {
    model_.commit(*emitting_);
    last_position_before_ = last_position_before_emit_;  // it has drawn its numbers then
  } else {
    model_.roll_back(*emitting_);
  }
  emitting_.reset();
}

const char* const Comparison::query_of_steps =
    "select 'step ' || task_id || '/' || attempt || "
    "coalesce(' ' || name || ' of ' || worker_id || ': ' || result, ' again') from dogged.task_steps";

void Comparison::add_steps(Lines& lines) const {
  for (const auto& [step, rows] : model_.durable().steps) {
    for (const auto& [attempt, row] : rows) {
      lines.insert("step " + std::to_string(step.first) + "/" + std::to_string(attempt) + " " + step.second + " of " +
                   std::to_string(row.worker) + ": " + result_of(step.second, row));
    }
  }
  for (const auto& [id, attempts] : model_.durable().steps_again) {
    for (const int attempt : attempts) {
      lines.insert("step " + std::to_string(id) + "/" + std::to_string(attempt) + " again");
    }
  }
}

const char* const Comparison::query_of_checkpoints =
    "select 'place ' || task_id || '/' || attempt || ' ' || name || ': ' || value from dogged.task_checkpoints";

void Comparison::add_checkpoints(Lines& lines) const {
  for (const auto& [loop, row] : model_.durable().checkpoints) {
    lines.insert("place " + std::to_string(loop.first) + "/" + std::to_string(row.attempt) + " " + loop.second + ": " +
                 std::to_string(row.place));
  }
}

const char* const Comparison::query_of_waits =
    "select 'wait ' || task_id || '/' || attempt || ' ' || name || case when for_event then ' (event)' else '' end || "
    "' for ' || round(extract(epoch from until - now()) / 60) || ': ' || coalesce(payload::text, 'none') "
    "from dogged.task_waits";

void Comparison::add_waits(Lines& lines) const {
  for (const auto& [step, wait] : model_.durable().waits) {
    const auto left = std::chrono::duration_cast<milliseconds>(wait.until - scheduler_.now());
    lines.insert("wait " + std::to_string(step.first) + "/" + std::to_string(wait.attempt) + " " + step.second +
                 (wait.for_event ? " (event)" : "") + " for " + std::to_string(in_minutes(left)) + ": " +
                 text_of(wait.payload));
  }
}

const char* const Comparison::query_of_progress =
    "select 'progress ' || task_id || '/' || attempt || ': ' || message || case "
    "when round(fraction * 1000000) <> message::bigint then ', and not ' || fraction else '' end "
    "from dogged.task_progress";

void Comparison::add_progress(Lines& lines) const {
  for (const auto& [id, row] : model_.durable().progress) {
    lines.insert("progress " + std::to_string(id) + "/" + std::to_string(row.attempt) + ": " +
                 std::to_string(row.value));
  }
}

}  // namespace dogged::sim
