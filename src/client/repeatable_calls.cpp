// See repeatable_calls.hpp.
#include "client/repeatable_calls.hpp"

#include <random>
#include <utility>

#include <dogged/detail/names.hpp>
#include <dogged/retry.hpp>
#include <dogged/retry_options.hpp>

#include "client/log_event.hpp"
#include "client/noted_retries.hpp"
#include "client/passing_error.hpp"
#include "db/errors.hpp"
#include "migrate/migrate.hpp"
#include "sql/client.hpp"
#include "text/escaped.hpp"

namespace dogged {
namespace {

using SteadyClock = std::chrono::steady_clock;

constexpr std::size_t most_names = 1'000;  // that a client remembers; a program's keys have fewer

/// A UUID of version 4.
std::string random_uuid() {
  std::random_device device;
  std::uniform_int_distribution<unsigned> digit{0, 15};
  std::string uuid = "xxxxxxxx-xxxx-4xxx-8xxx-xxxxxxxxxxxx";
  for (char& letter : uuid) {
    if (letter == 'x') letter = "0123456789abcdef"[digit(device)];
  }
  return uuid;
}

/// If an answer was lost, the call may have taken effect, or may do so later, whatever error a later try got.
[[noreturn]] void throw_last_error(const std::exception_ptr& last, const std::optional<std::string>& lost_answer,
                                   const Wording& words) {
  try {
    std::rethrow_exception(last);
  } catch (const ConnectionError&) {
    throw;
  } catch (const Error& error) {
    if (!lost_answer) throw;
    throw ConnectionError(words.may_have_happened + ": the answer to a try was lost (" + *lost_answer +
                              "), and the last one failed: " + error.message(),
                          error.hint(), "");
  }
}

}  // namespace

RepeatableCalls::RepeatableCalls(Settings settings) : settings_(std::move(settings)), producer_(random_uuid()) {
  connect();
}

template <class Work>
auto RepeatableCalls::on_connection(Work work) {
  try {
    return work();
  } catch (const ConnectionError& error) {
    lost(error.what());
    throw;
  }
}

RetryOptions RepeatableCalls::options_of(std::string_view name, SteadyClock::duration waited) const {
  RetryOptions options = noted_retries(std::string{name}, settings_.retry, settings_.log);
  // The time of waiting for other calls counts; the time of writing what may be hundreds of megabytes does not.
  if (max_retries(settings_.retry) > 0) options.deadline = SteadyClock::now() - waited + settings_.retry_for;
  return options;
}

void RepeatableCalls::read(std::string_view name, const std::function<void(db::Connection&)>& work,
                           SteadyClock::duration waited) {
  const auto result = retry_if(
      settings_.retry,
      [&] {
        connect_if_closed();
        on_connection([&] { work(*connection_); });
      },
      is_passing, options_of(name, waited));
  if (result) return;
  if (!result.error) throw client_was_busy("nothing was read");
  std::rethrow_exception(result.error);
}

db::Rows RepeatableCalls::run(const RepeatableCall& call, SteadyClock::duration waited) {
  const bool may_be_repeated = max_retries(settings_.retry) > 0;
  const CallKey key{producer_, ++calls_};
  const db::BoundStatement statement = call.with_key(may_be_repeated ? key : CallKey{});
  std::optional<std::string> lost_answer;  // of a try that was sent
  bool was_sent = false;
  const auto result = retry_if(
      settings_.retry,
      [&] {
        connect_if_closed();
        prepare(call.kinds);
        try {
          if (std::exchange(was_sent, true)) return repeat(statement, call.made(key));
          return on_connection([&] { return connection_->run(statement); });
        } catch (const ConnectionError& error) {
          lost_answer = error.message();
          throw;
        }
      },
      is_passing, options_of(call.words.name, waited));
  if (result) return result.value();
  if (!result.error) throw client_was_busy(call.words.nothing_done);
  throw_last_error(result.error, lost_answer, call.words);
}

ConnectionError RepeatableCalls::client_was_busy(const std::string& nothing_done) const {
  return {nothing_done + ": other calls had this client for all of retry_for, " +
              std::to_string(settings_.retry_for.count()) + " ms",
          "give each thread a client of its own, or a longer retry_for", ""};
}

/// Once for each name, before its first task: creates the queue of its key, and warns of a name that no worker knows.
void RepeatableCalls::prepare(std::span<const NewTask> tasks) {
  const std::string* last = nullptr;  // a call is mostly for tasks of one kind
  for (const NewTask& task : tasks) {
    if (last != nullptr && *last == task.name) continue;
    last = &task.name;
    if (!settings_.warns_of_undeclared && !makes_queue(task)) continue;
    if (prepared_.contains(task.name) || (prepared_.size() >= most_names && !makes_queue(task))) continue;
    if (prepare(task)) prepared_.insert(task.name);
  }
}

/// False if the name is not valid: the enqueue then reports that.
bool RepeatableCalls::prepare(const NewTask& task) {
  if (!detail::is_valid_name(task.name)) return false;
  const auto queue = makes_queue(task) ? std::optional{task.key_queue} : std::nullopt;
  const auto prepared =
      on_connection([&] { return db::one(connection_->run(sql::PrepareTask{.name = task.name, .queue = queue})); });
  if (settings_.warns_of_undeclared && !prepared.is_declared) {
    settings_.log->log(
        event("task_undeclared"), spdlog::level::warn,
        "{}: no worker has declared the task {}: its tasks wait until one starts that registers it and serves {}",
        settings_.database.application_name, task.name,
        queue                        ? "the queue " + *queue
        : task.options.queue.empty() ? "the queue default; a queue in the task's key would hold for both sides"
                                     : "the queue " + task.options.queue);
  }
  return true;
}

/// An earlier try may have taken effect, or may do so later: asks for that first.
db::Rows RepeatableCalls::repeat(const db::BoundStatement& call, const db::BoundStatement& made) {
  return on_connection([&] {
    std::optional<db::Rows> rows;
    connection_->transaction([&] {
      connection_->run(sql::ReserveProducer{.producer = producer_});
      rows = connection_->run(made);
      if (rows->empty()) rows = connection_->run(call);
    });
    return *rows;
  });
}

void RepeatableCalls::lost(const std::string& why) {
  prepares_ = connection_->settings().prepares;
  connection_.reset();
  settings_.log->log(event("connection_lost"), spdlog::level::warn, "{}: {}; the next call connects again",
                     settings_.database.application_name, db::one_line(why));
}

void RepeatableCalls::connect_if_closed() {
  if (connection_ && connection_->is_closed_by_server()) lost("the server has closed the connection");
  if (connection_) return;
  connect();
  settings_.log->log(event("connected_again"), spdlog::level::info, "{}: connected again",
                     settings_.database.application_name);
}

void RepeatableCalls::connect() {
  db::Settings settings = settings_.database;
  settings.prepares = prepares_;
  connection_.emplace(std::move(settings));
  try {
    migrate::require_current(*connection_);
  } catch (...) {
    connection_.reset();
    throw;
  }
}

}  // namespace dogged
