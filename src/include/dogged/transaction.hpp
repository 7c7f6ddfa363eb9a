// Effects that happen once: a handler that completes its attempt in its own transaction, and an enqueue in the
// transaction of its caller. Both take a libpqxx transaction (6.4 or newer) on the database that holds the queue. This
// is the only header of dogged that includes <pqxx/pqxx>. A program that includes it links its own libpqxx
// (find_package(dogged) defines PkgConfig::pqxx).
//
//   Receipt book(dogged::Context& ctx, const Transfer& transfer) {
//     pqxx::connection connection{ctx.database_url()};  // the handler's own, or one from its pool
//     pqxx::work transaction{connection};
//     const Receipt receipt = write_entries(transaction, transfer);
//     dogged::enqueue_in(transaction, notify_owner, {transfer.owner});
//     ctx.complete_in(transaction, receipt);
//     transaction.commit();  // the entries, the new task and the end of this one, or none of them
//     return receipt;
//   }
//
// Mistakes of the caller are dogged's exceptions (InvalidInput, SchemaMismatch, TaskError, LeaseLost). Failures of the
// database are libpqxx's own exceptions, unchanged, because the transaction is yours: pqxx::broken_connection,
// pqxx::serialization_failure, pqxx::deadlock_detected …. So pqxx::perform and your own handling see what they expect.
// A handler that lets one of them out fails with a PG_… code, as ExceptionMapper says. After any exception, except
// those thrown before the database is asked, PostgreSQL has aborted the transaction, and nothing of it can be
// committed. (libpqxx's commit() does not always say so: let the exception leave the scope of the transaction, which
// rolls back.)
//
// The connection must speak UTF-8, as it does unless PGCLIENTENCODING or the database's encoding says otherwise;
// InvalidInput if it does not. End pipelines and streams on the transaction first: libpqxx refuses other calls beside
// them (pqxx::usage_error).
//
// docs/transactions.md tells when to use which, and which rights the connection's role needs.
#pragma once

#include <concepts>
#include <cstddef>
#include <exception>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <pqxx/pqxx>

#include <dogged/client.hpp>
#include <dogged/detail/json_text.hpp>
#include <dogged/detail/sql_call.hpp>
#include <dogged/error.hpp>
#include <dogged/exception_mapper.hpp>
#include <dogged/steps.hpp>
#include <dogged/task.hpp>

namespace dogged {

namespace detail {

/// By type, because libpqxx 6 keeps no SQLSTATE for some; derived classes before their bases.
inline std::optional<Classification> classify_pqxx(const std::exception_ptr& exception) noexcept {
  try {
    std::rethrow_exception(exception);
  } catch (const pqxx::deadlock_detected&) {
    return classify_sqlstate("40P01");
  } catch (const pqxx::serialization_failure&) {
    return classify_sqlstate("40001");
  } catch (const pqxx::statement_completion_unknown&) {
    return classify_sqlstate("40003");
  } catch (const pqxx::transaction_rollback&) {
    return classify_sqlstate("40000");
  } catch (const pqxx::in_doubt_error&) {
    return classify_sqlstate("08007");
  } catch (const pqxx::too_many_connections&) {
    return classify_sqlstate("53300");
  } catch (const pqxx::broken_connection&) {
    return classify_sqlstate("08006");
  } catch (const pqxx::sql_error& error) {
    if (!error.sqlstate().empty()) return classify_sqlstate(error.sqlstate());
  } catch (...) {
  }
  return std::nullopt;
}
inline const bool classifies_pqxx = use_pqxx_classifier(&classify_pqxx);

/// Begins and commits with the transaction that it wraps.
template <class T>
concept WholeTransaction = std::derived_from<T, pqxx::dbtransaction> && !std::same_as<T, pqxx::dbtransaction> &&
                           !std::derived_from<T, pqxx::subtransaction>;

inline pqxx::result execute(pqxx::transaction_base& transaction, const SqlCall& call) {
#if PQXX_VERSION_MAJOR > 7 || (PQXX_VERSION_MAJOR == 7 && PQXX_VERSION_MINOR >= 10)
  pqxx::params values;
  for (const auto& param : call.params) param ? values.append(pqxx::zview{*param}) : values.append();
  return transaction.exec(call.text, values);
#else
#if PQXX_VERSION_MAJOR < 7
  // exec_params of version 6 neither begins a subtransaction nor minds an open pipeline; exec does both.
  transaction.exec("");
#endif
  std::vector<const char*> values;
  values.reserve(call.params.size());
  for (const auto& param : call.params) values.push_back(param ? param->c_str() : nullptr);
  return transaction.exec_params(call.text, pqxx::prepare::make_dynamic_params(values));
#endif
}

/// Our texts are UTF-8. With another encoding the server would read other characters.
inline void require_utf8(pqxx::transaction_base& transaction) {
  const std::string encoding = transaction.conn().get_client_encoding();
  if (encoding == "UTF8") return;
  throw InvalidInput("the connection's client_encoding is " + encoding + ", and dogged needs UTF8",
                     "add client_encoding=UTF8 to its connection string");
}

/// `tasks` are those that the call enqueues.
inline pqxx::result run_call(pqxx::transaction_base& transaction, const SqlCall& call,
                             std::span<const NewTask> tasks = {}) {
  require_utf8(transaction);
  try {
    return execute(transaction, call);
  } catch (const pqxx::sql_error& error) {
    explain_refusal(error.what(), error.sqlstate(), tasks);
    throw;
  }
}

}  // namespace detail

/// Ends the attempt as succeeded within `transaction`, with `result` (nothing if the task's result is void; its type is
/// that of the task's key). The commit decides: before the commit nothing has happened, with it everything has.
///
/// Call it last and commit at once. In between the task's row is locked: workers skip it, and dogged.cancel of this
/// task waits. After the commit the attempt has succeeded, whatever the handler returns or throws. A handler that calls
/// complete_in and ends without a commit has failed; if it returns, with the code NOT_COMMITTED. A transaction that was
/// rolled back may be tried again in the same attempt: a new transaction, the writes again, complete_in again.
///
/// `transaction` is a pqxx::work, another pqxx::transaction<…> or a pqxx::robusttransaction<…>. The compiler refuses a
/// pqxx::nontransaction, which commits each statement alone, and a pqxx::subtransaction, which can be rolled back
/// alone. No other savepoint may be open either: a rollback to it would undo the end of the attempt and keep earlier
/// writes.
///
/// Throws
/// - LeaseLost: the task is not held under this attempt any more (or the transaction is on another database that has a
///   queue). Roll back and end the handler: the worker that holds the task now does the work, or has done it.
/// - TaskError with INVALID_RESULT, before the database is asked: the result cannot be JSON, or is over
///   settings.max_result_bytes (1 MiB). Such an attempt would fail in the same way if it returned the result.
/// - InvalidInput: the attempt has been completed already, by an earlier call and its commit. This error is good
///   news if the answer to that commit was lost (pqxx::in_doubt_error) and the handler tries again.
/// - SchemaMismatch: the transaction is on a database that has no such queue.
/// - libpqxx's exceptions. Under READ COMMITTED, the default, the fence sees what is true when it is called. The task
///   may have been given to another worker, or cancelled, since the transaction's first statement. Under REPEATABLE
///   READ and SERIALIZABLE that is a pqxx::serialization_failure (40001) instead of LeaseLost. Try again in a new
///   transaction, which tells. A read-only transaction gets PostgreSQL's error 25006.
template <class Transaction, class... Result>
void Context::complete_in(Transaction& transaction, const Result&... result) {
  static_assert(detail::WholeTransaction<Transaction>,
                "dogged: complete_in takes a pqxx::work, another pqxx::transaction<...> or a "
                "pqxx::robusttransaction<...>: a nontransaction commits each statement alone, a subtransaction can be "
                "rolled back alone, and a reference to a base class may be either");
  static_assert(sizeof...(Result) <= 1, "dogged: complete_in takes one result, or none where the task has none");
  static_assert((detail::ToJson<Result> && ...),
                "dogged: the result must convert to nlohmann::json: give the type to_json, for example with "
                "NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT");
  std::string result_json;
  try {
    ((result_json = detail::to_json_text({"the result"}, result)), ...);
  } catch (const std::invalid_argument& error) {
    throw TaskError{codes::invalid_result, error.what()};
  }
  const Completion completion = begin_completion();
  if constexpr (sizeof...(Result) == 0) result_json = completion.returned_json;
  detail::run_call(transaction, detail::completion_call(completion, result_json));
}

template <class Transaction, class Work>
std::invoke_result_t<Work&> Context::step_in(Transaction& transaction, std::string_view name, Work&& work) {
  static_assert(detail::WholeTransaction<Transaction>,
                "dogged: step_in takes a pqxx::work, another pqxx::transaction<...> or a pqxx::robusttransaction<...>, "
                "as complete_in does");
  begin_step(name, detail::StepNames::Kind::in_transaction);
  return run_step(name, work, [&](const std::string& json, Clock::time_point began_at) {
    detail::run_call(transaction, step_call(name, json, began_at));
  });
}

/// Where enqueue_in puts tasks, within the database of the transaction; a text alone is the schema.
struct EnqueueInto {
  EnqueueInto(std::string with_schema = "dogged", EnqueueMiddlewares with_middleware = {})
      : schema(std::move(with_schema)), middleware(std::move(with_middleware)) {}
  EnqueueInto(const char* with_schema) : schema(with_schema) {}

  std::string schema;             ///< the PostgreSQL schema of the queue, as ClientOptions::schema
  EnqueueMiddlewares middleware;  ///< around the call, as ClientOptions::middleware
};

namespace detail {
inline std::vector<Enqueued> enqueue_all(pqxx::transaction_base& transaction, std::span<const NewTask> tasks,
                                         const std::string& schema) {
  const SqlCall enqueue = enqueue_call(tasks, schema);
  for (const SqlCall& call : prepare_calls(tasks, schema)) run_call(transaction, call);
  const pqxx::result rows = run_call(transaction, enqueue, tasks);
  if (any_is_unique(tasks)) return enqueued_from(rows[0][0].as<std::string>(), tasks.size());
  std::vector<Enqueued> enqueued;
  enqueued.reserve(tasks.size());
  for (const auto& row : rows) {  // from the first id to the last
    for (TaskId id = row[0].as<TaskId>(); id <= row[1].as<TaskId>(); ++id) enqueued.push_back({id});
  }
  return enqueued;
}

inline std::vector<Enqueued> enqueue_tasks(pqxx::transaction_base& transaction, std::span<const NewTask> tasks,
                                           const EnqueueInto& into) {
  if (!has_enqueue_hooks(into.middleware)) return enqueue_all(transaction, tasks, into.schema);
  return enqueue_within(into.middleware, {tasks.begin(), tasks.end()}, nullptr,
                        [&](const std::vector<NewTask>& all) { return enqueue_all(transaction, all, into.schema); });
}
}  // namespace detail

/// Enqueues in the caller's transaction: the tasks exist once it commits, and never do if it rolls back. Any libpqxx
/// transaction will do. In a pqxx::subtransaction the tasks share its fate; in a pqxx::nontransaction each call commits
/// by itself. The commit wakes a sleeping worker. A key that names its queue (KeyOptions::queue) costs another
/// statement for each call, which creates the queue if it is missing.
///
/// By name and JSON text. Ids are in the order of `tasks`; without tasks there are no ids and no statement. Throws as
/// Client::enqueue_many does for mistakes in the tasks (InvalidInput, QueueFull). Throws InvalidInput for a name that
/// no schema can have, and SchemaMismatch if the database has no such queue. Passes on the exceptions of libpqxx and of
/// hooks.
inline std::vector<TaskId> enqueue_many_in(pqxx::transaction_base& transaction, const std::vector<NewTask>& tasks,
                                           const EnqueueInto& into = {}) {
  return tasks.empty() ? std::vector<TaskId>{} : detail::ids_of(detail::enqueue_tasks(transaction, tasks, into));
}

inline TaskId enqueue_in(pqxx::transaction_base& transaction, const NewTask& task, const EnqueueInto& into = {}) {
  return detail::enqueue_tasks(transaction, {&task, 1}, into).front().id;
}

/// As Client::enqueue_unique and Client::enqueue_many_unique, in the caller's transaction. Another transaction that
/// enqueues the same key waits until this one has ended.
inline Enqueued enqueue_unique_in(pqxx::transaction_base& transaction, NewTask task, const EnqueueInto& into = {}) {
  const NewTask unique = detail::unique_task(std::move(task));
  return detail::enqueue_tasks(transaction, {&unique, 1}, into).front();
}
template <class Args, class Result>
Enqueued enqueue_unique_in(pqxx::transaction_base& transaction, const Task<Args, Result>& task,
                           const std::type_identity_t<Args>& args, const EnqueueOptions& options = {},
                           const EnqueueInto& into = {}) {
  return enqueue_unique_in(transaction, detail::new_task(task, args, options), into);
}
inline std::vector<Enqueued> enqueue_many_unique_in(pqxx::transaction_base& transaction,
                                                    const std::vector<NewTask>& tasks, const EnqueueInto& into = {}) {
  return tasks.empty() ? std::vector<Enqueued>{} : detail::enqueue_tasks(transaction, tasks, into);
}

/// The same by the task's key, as Client::enqueue.
template <class Args, class Result>
TaskId enqueue_in(pqxx::transaction_base& transaction, const Task<Args, Result>& task,
                  const std::type_identity_t<Args>& args, const EnqueueOptions& options = {},
                  const EnqueueInto& into = {}) {
  return enqueue_in(transaction, detail::new_task(task, args, options), into);
}

/// Many tasks of one kind, all or none; ids in the order of `args`.
template <class Args, class Result>
std::vector<TaskId> enqueue_many_in(pqxx::transaction_base& transaction, const Task<Args, Result>& task,
                                    const std::vector<Args>& args, const EnqueueOptions& options = {},
                                    const EnqueueInto& into = {}) {
  std::vector<NewTask> tasks;
  tasks.reserve(args.size());
  for (const Args& one : args) tasks.push_back(detail::new_task(task, one, options));
  return enqueue_many_in(transaction, tasks, into);
}

}  // namespace dogged
