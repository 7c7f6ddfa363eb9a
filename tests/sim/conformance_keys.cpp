// The statements of unique keys, on the model and on PostgreSQL. See comparison.hpp.
#include <array>
#include <set>
#include <string>

#include <dogged/error.hpp>

#include "comparison.hpp"

namespace dogged::sim {
namespace {

struct Key {
  const char* name;
  While while_;
  std::optional<milliseconds> period = {};
};
const std::array keys{Key{"pending", While::pending}, Key{"live", While::live}, Key{"kept", While::kept},
                      Key{"live for a time", While::live, delay}, Key{"kept for a time", While::kept, delay}};
// In the order of the enums.
constexpr std::array<const char*, 3> while_texts{"pending", "live", "kept"};
constexpr std::array<const char*, 7> conflict_texts{"keep",       "refuse",   "replace_args",  "merge_args",
                                                    "reschedule", "debounce", "debounce_merge"};
/// merging() makes two of these the other two.
constexpr std::array drawn_conflicts{Conflict::keep, Conflict::refuse, Conflict::replace, Conflict::reschedule,
                                     Conflict::debounce};
constexpr std::array<const char*, 5> outcome_texts{"enqueued", "existed", "updated", "refused", "would never run"};

template <class Enum, class Texts>
std::string text_of(Enum value, const Texts& texts) {
  return texts[static_cast<std::size_t>(value)];
}

std::string answer(const std::string& outcome, TaskId id) { return outcome + " " + std::to_string(id); }

}  // namespace

/// Nothing where PostgreSQL would wait.
void Comparison::enqueue_unique() {
  const Key& key = keys[static_cast<std::size_t>(scheduler_.pick(0, static_cast<std::int64_t>(keys.size()) - 1))];
  Database::NewTask task{.delay = scheduler_.chance(50) ? milliseconds{delay} : milliseconds{0}, .queue = any_queue()};
  task.key = key.name;
  task.rule = {.while_ = key.while_,
               .conflict = drawn_conflicts[static_cast<std::size_t>(scheduler_.pick(0, drawn_conflicts.size() - 1))],
               .period = key.period};
  if (moves_first_run(task.rule.conflict) && scheduler_.chance(50)) task.rule.latest = until_latest;
  if (scheduler_.chance(60)) task.expires_in = task.delay + until_holder_expires;
  task.args = {++last_value_};
  const bool merges = scheduler_.stream(std::uint64_t{1} << 33, static_cast<std::uint64_t>(last_value_)).chance(50);
  if (merges) task.rule.conflict = merging(task.rule.conflict);
  begin_transaction();
  const std::optional<Database::Unique> model = model_.enqueue_unique(*open_, task);
  if (!model) return;
  note("enqueue to " + task.queue + " with the key " + task.key + ", " + text_of(task.rule.conflict, conflict_texts) +
       (task.delay.count() > 0 ? ", for later" : "") + (task.expires_in ? ", which expires" : ""));
  write_unique(task, *model);
}

/// A call that is refused would end the transaction.
void Comparison::write_unique(const Database::NewTask& task, const Database::Unique& model) {
  const auto minutes_of = [](const std::optional<milliseconds>& time) {
    return time ? std::optional{in_minutes(*time)} : std::nullopt;
  };
  producer_.run({"savepoint", "savepoint before_call"});
  std::string postgres;
  try {
    const test::Rows rows = producer_.run(
        {"enqueue_unique",
         "select id, outcome from dogged.enqueue_unique('work', $1::jsonb, $2::text, "
         "unique_while => $3::text::dogged.unique_while, on_conflict => $4::text::dogged.unique_conflict, "
         "unique_period => $5::bigint * interval '1 minute', latest => $6::bigint * interval '1 minute', "
         "queue => $7::text, run_at => now() + $8::bigint * interval '1 minute', "
         "expires_at => now() + $9::bigint * interval '1 minute')"},
        db::Params{}
            .add(as_json(task.args))
            .add(task.key)
            .add(text_of(task.rule.while_, while_texts))
            .add(text_of(task.rule.conflict, conflict_texts))
            .add(minutes_of(task.rule.period))
            .add(minutes_of(task.rule.latest))
            .add(task.queue)
            .add(in_minutes(task.delay))
            .add(minutes_of(task.expires_in)));
    postgres = answer(rows.one().text("outcome"), rows.one().number("id"));
  } catch (const DatabaseError& error) {
    if (error.sqlstate() != "UN001") throw;
    postgres = answer("refused", model.id);
    producer_.run({"undo", "rollback to savepoint before_call"});
  } catch (const InvalidInput& error) {
    if (std::string{error.what()}.find("would not be before its expires_at") == std::string::npos) throw;
    postgres = answer("would never run", model.id);
    producer_.run({"undo", "rollback to savepoint before_call"});
  }
  require_alike("the answer to a call with a key", answer(text_of(model.outcome, outcome_texts), model.id), postgres);
}

const char* const Comparison::query_of_keys =
    "select 'key ' || unique_key || ': task ' || task_id from dogged.unique_keys union all "
    "select 'key ' || unique_key || ' of task ' || id || case when deferred then "
    "' for ' || round(extract(epoch from coalesce(next_retry_at, run_at) - now()) / 60) else '' end || "
    "coalesce(' until ' || round(extract(epoch from expires_at - now()) / 60), '') "
    "from dogged.tasks_live where unique_key is not null";

void Comparison::add_keys(Lines& lines) const {
  for (const auto& [key, row] : model_.durable().keys) {
    lines.insert("key " + key + ": task " + std::to_string(row.task));
  }
  for (const TaskId id : model_.live()) {
    const Task& task = model_.tasks().at(id);
    if (task.key.empty()) continue;
    const auto left = [this](TimePoint time) {
      return std::to_string(in_minutes(std::chrono::duration_cast<milliseconds>(time - scheduler_.now())));
    };
    lines.insert("key " + task.key + " of task " + std::to_string(id) +
                 (task.deferred ? " for " + left(task.due_at) : "") +
                 (task.expires_at ? " until " + left(*task.expires_at) : ""));
  }
}

}  // namespace dogged::sim
