// The calls that clients may repeat (schema/note_call.sql). See database.hpp.
#include "database.hpp"

namespace dogged::sim {

bool Database::may_take_effect(const CallKey& key) const {
  const auto last = now_.calls.find(key.producer);
  if (last == now_.calls.end() || last->second.call < key.call) return true;
  return mutant_ == Mutant::call_that_takes_effect_again;
}

/// A refused call has drawn ids all the same.
std::optional<std::vector<TaskId>> Database::enqueue_once(const CallKey& key, int how_many, const NewTask& task) {
  if (!may_take_effect(key)) {
    last_position_ += how_many;
    return std::nullopt;
  }
  Transaction transaction = begin();
  enqueue(transaction, how_many, task);
  commit(transaction);
  now_.calls[key.producer] = {.call = key.call, .tasks = transaction.ids};
  std::vector<TaskId>& all = now_.ledger.calls[key];
  all.insert(all.end(), transaction.ids.begin(), transaction.ids.end());
  return transaction.ids;
}

std::optional<std::string> Database::cancel_once(const CallKey& key, TaskId id) {
  if (!may_take_effect(key)) return std::nullopt;
  const std::string answer{cancel(id)};
  now_.calls[key.producer] = {.call = key.call, .answer = answer};
  return answer;
}

std::optional<CallRow> Database::call_made(const CallKey& key) const {
  const auto last = now_.calls.find(key.producer);
  const bool is_made = last != now_.calls.end() && last->second.call == key.call;
  if (!is_made || mutant_ == Mutant::call_that_takes_effect_again) return std::nullopt;
  return last->second;
}

}  // namespace dogged::sim
