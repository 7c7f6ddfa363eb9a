// The calls that clients may repeat, on the model and on PostgreSQL. See comparison.hpp.
#include <optional>
#include <string>
#include <vector>

#include <dogged/error.hpp>

#include "comparison.hpp"
#include "sql/client.hpp"

namespace dogged::sim {
namespace {

const std::string refused = "refused";

std::string uuid_of(std::int64_t producer) { return "00000000-0000-4000-8000-00000000000" + std::to_string(producer); }

std::string text_of(const std::vector<TaskId>& ids) {
  std::string text = "tasks";
  for (const TaskId id : ids) text += " " + std::to_string(id);
  return text;
}

/// As PostgreSQL writes an int8multirange.
std::string in_ranges(const std::vector<TaskId>& ids) {
  std::string text = "{";
  for (std::size_t i = 0; i < ids.size(); ++i) {
    const bool begins = i == 0 || ids[i - 1] + 1 != ids[i];
    const bool ends = i + 1 == ids.size() || ids[i] + 1 != ids[i + 1];
    if (begins) text += (i > 0 ? ",[" : "[") + std::to_string(ids[i]) + ",";
    if (ends) text += std::to_string(ids[i] + 1) + ")";
  }
  return text + "}";
}

/// Of ids in ranges.
template <class Rows>
std::string text_of_ranges(const Rows& rows) {
  std::vector<TaskId> ids;
  for (const auto& [first, last] : rows) {
    for (TaskId id = first; id <= last; ++id) ids.push_back(id);
  }
  return text_of(ids);
}

}  // namespace

std::optional<Comparison::ClientCall> Comparison::some_call() {
  if (scheduler_.chance(30)) {
    const auto id = any_task();
    return id ? std::optional{ClientCall{.cancels = id}} : std::nullopt;
  }
  return ClientCall{.how_many = static_cast<int>(scheduler_.pick(1, 2)),
                    .task = {.delay = scheduler_.chance(30) ? milliseconds{delay} : milliseconds{0},
                             .queue = any_queue(),
                             .priority = static_cast<int>(scheduler_.pick(-1, 1))}};
}

/// The next call of a client, a repetition of its last one, or one that arrives late. A client that repeats a call asks
/// first whether it has taken effect.
void Comparison::make_call() {
  const std::int64_t producer = scheduler_.pick(1, 2);
  std::vector<ClientCall>& calls = calls_[producer];
  if (calls.empty() || scheduler_.chance(50)) {
    if (auto call = some_call()) calls.push_back(*call);
  }
  if (calls.empty()) return;
  const auto made = static_cast<std::int64_t>(calls.size());
  const CallKey key{producer, scheduler_.chance(75) ? made : scheduler_.pick(1, made)};
  const ClientCall& call = calls[static_cast<std::size_t>(key.call) - 1];
  if (call.cancels && would_wait(*call.cancels)) return;
  const bool asks_first = scheduler_.chance(50);
  note("call " + std::to_string(key.call) + " of producer " + std::to_string(producer) + (asks_first ? ", again" : "") +
       ": " +
       (call.cancels ? "cancel " + std::to_string(*call.cancels)
                     : "enqueue " + std::to_string(call.how_many) + " to " + call.task.queue));
  require_alike("the answer to the call", answer_of_model(key, call, asks_first),
                answer_of_postgres(key, call, asks_first));
}

std::string Comparison::answer_of_model(const CallKey& key, const ClientCall& call, bool asks_first) {
  if (asks_first) {
    model_.reserve_producer(key.producer);
    if (const auto made = model_.call_made(key)) return made->answer.value_or(text_of(made->tasks));
  }
  if (call.cancels) return model_.cancel_once(key, *call.cancels).value_or(refused);
  const auto ids = model_.enqueue_once(key, call.how_many, call.task);
  return ids ? text_of(*ids) : refused;
}

/// As RepeatableCalls::repeat.
std::string Comparison::answer_of_postgres(const CallKey& key, const ClientCall& call, bool asks_first) {
  const std::string producer = uuid_of(key.producer);
  const auto ask = [&]() -> std::string {
    if (call.cancels) {
      const auto made = postgres_.run(sql::AnswerMade{.producer = producer, .call = key.call});
      return made.empty() ? "" : made.front().answer;
    }
    const auto made = postgres_.run(sql::CallMade{.producer = producer, .call = key.call});
    return made.empty() ? "" : text_of_ranges(made);
  };
  const auto make = [&] {
    if (call.cancels) {
      return db::one(postgres_.run(sql::CancelOnce{.task_id = *call.cancels, .producer = producer, .call = key.call}))
          .answer;
    }
    sql::EnqueueMany enqueue{};
    enqueue.producer = producer;
    enqueue.call = key.call;
    enqueue.name = {task_names.front()};
    enqueue.args = call.how_many == 1 ? "[]" : "[]\x1e[]";
    enqueue.queue = std::vector{call.task.queue};
    enqueue.delay_ms = std::vector<std::int64_t>{call.task.delay.count()};
    enqueue.priority = std::vector{call.task.priority};
    return text_of_ranges(postgres_.run(std::move(enqueue)));
  };
  std::string answer;
  try {
    postgres_.transaction([&] {
      if (asks_first) {
        postgres_.run(sql::ReserveProducer{.producer = producer});
        answer = ask();
      }
      if (answer.empty()) answer = make();
    });
  } catch (const InvalidInput& error) {
    if (std::string{error.what()}.find("was made before, or a later one") == std::string::npos) throw;
    return refused;
  }
  return answer;
}

const char* const Comparison::query_of_calls =
    "select 'call ' || call || ' of producer ' || right(producer::text, 1) || coalesce(' ' || answer, '') || ': ' || "
    "task_ids from dogged.producer_calls";

void Comparison::add_calls(Lines& lines) const {
  for (const auto& [producer, row] : model_.durable().calls) {
    lines.insert("call " + std::to_string(row.call) + " of producer " + std::to_string(producer) +
                 (row.answer ? " " + *row.answer : "") + ": " + in_ranges(row.tasks));
  }
}

}  // namespace dogged::sim
