// See registrar.hpp.
#include "runtime/registrar.hpp"

#include <functional>
#include <string>

#include <dogged/error.hpp>

#include "base/session.hpp"
#include "client/log_event.hpp"
#include "db/connection.hpp"
#include "db/errors.hpp"
#include "migrate/migrate.hpp"
#include "migrate/missing_role.hpp"
#include "retry/duration.hpp"
#include "runtime/common.hpp"
#include "runtime/core/registering.hpp"
#include "sql/claim.hpp"
#include "sql/registration.hpp"
#include "sql/retention.hpp"
#include "tasks/definition.hpp"
#include "tasks/published.hpp"
#include "tasks/served_queues.hpp"
#include "upkeep/declared_schedules.hpp"

namespace dogged::runtime {
namespace {

using Try = std::function<std::optional<Registration>(db::Connection&, Registering&)>;

/// Throws unless the schema is current, and transactions read what others have committed.
void require_usable(db::Connection& connection) {
  migrate::require_current(connection);
  const auto [isolation] = db::one(connection.run(sql::ReadIsolation{}));
  if (isolation == "read committed") return;
  throw InvalidInput("transactions of this role or database are \"" + isolation +
                         "\" unless said otherwise; a worker needs \"read committed\"",
                     "set default_transaction_isolation of its role: alter role … set default_transaction_isolation = "
                     "'read committed'");
}

/// A worker that does not start must not look alive until its lease has lapsed. Throws only a mistake of dogged.
void withdraw(db::Connection& connection, std::int64_t worker_id) {
  try {
    connection.run(sql::StopWorker{.worker_id = worker_id});
  } catch (const std::exception& error) {  // its lease lapses
    if (db::is_defect(error)) throw;
  }
}

/// Tries as often as Registering says.
std::optional<Registration> try_to_register(Common& common, Registering::Occasion occasion, Part part,
                                            const Try& one_try) {
  const auto database = common.session(part);
  Registering registering{occasion};
  const auto step = [&] { return registering.next(SteadyClock::now(), common.stop.is_readable()).step; };
  std::optional<Registration> registration;
  while (step() != Registering::Step::registered) {
    if (step() == Registering::Step::stop) return std::nullopt;
    try {
      registration = one_try(database->connection(), registering);
      database->succeeded();
    } catch (const DatabaseError& error) {
      common.throw_if_defect(to_text(part));
      registering.on_failure();
      if (step() == Registering::Step::fail) throw;
      database->recover_from(error, {});
    }
  }
  return registration;
}

/// One transaction: if PostgreSQL refuses a schedule, the declarations of other workers stay in force.
void declare(Common& common, db::Connection& connection, std::int64_t worker_id) {
  struct SchedulesLocked {};
  try {
    publish_definitions(connection, *common.definitions, common.settings.queues, *common.log, [&] {
      if (!common.schedules->declare(connection, worker_id)) throw SchedulesLocked{};
    });
  } catch (const SchedulesLocked&) {  // upkeep declares them later
    publish_definitions(connection, *common.definitions, common.settings.queues, *common.log);
  }
}

/// If this fails after it has registered, `previous` is the lease that it has registered.
std::optional<Registration> begin(Common& common, db::Connection& connection, std::optional<std::int64_t>& previous,
                                  Registering& registering) {
  require_usable(connection);
  const auto limits = db::one(connection.run(sql::ReadSettings{}));
  common.attempts.limits.max_result_bytes = static_cast<std::size_t>(limits.max_result_bytes);
  common.attempts.limits.max_error_message_bytes = static_cast<std::size_t>(limits.max_error_message_bytes);
  common.attempts.installation = limits.installation;
  (void)connection.run(sql::MakePartitions{});
  const WorkerSettings& settings = common.settings;
  if (!settings.create_queues) require_known_queues(connection, settings.queues, *common.definitions);

  const auto registered =
      register_worker(connection, common.row(), *common.definitions, previous, registering, common.stop, *common.log);
  if (!registered) return std::nullopt;
  previous = registered->worker_id;
  try {
    declare(common, connection, registered->worker_id);
    tell_of_unserved(connection, settings.queues, *common.definitions, *common.log);
  } catch (...) {
    withdraw(connection, registered->worker_id);
    throw;
  }
  return registered;
}

/// complete_in is for workers alone, so a login that may call it has the worker role.
[[noreturn]] void throw_with_role(const DatabaseError& error, db::Connection& connection) {
  if (!migrate::is_missing_right(error)) throw;
  const auto hint = migrate::hint_for_missing_role(connection, "complete_in");
  throw DatabaseError(error.message(), hint.value_or(error.hint()), error.sqlstate());
}

}  // namespace

std::optional<Registration> register_first(Common& common) {
  std::optional<std::int64_t> previous = common.settings.previous_lease;
  return try_to_register(common, previous ? Registering::Occasion::restart : Registering::Occasion::start, Part::start,
                         [&](db::Connection& connection, Registering& registering) {
                           try {
                             return begin(common, connection, previous, registering);
                           } catch (const DatabaseError& error) {
                             throw_with_role(error, connection);
                           }
                         });
}

std::optional<Registration> register_again(Common& common, std::int64_t lost) {
  return try_to_register(common, Registering::Occasion::lease_lost, Part::registration,
                         [&](db::Connection& connection, Registering& registering) {
                           const auto registered = register_worker(connection, common.row(), *common.definitions, lost,
                                                                   registering, common.stop, *common.log);
                           if (registered)
                             common.log->log(event("lease_replaced"), spdlog::level::warn,
                                             "worker {} goes on as worker {}", lost, registered->worker_id);
                           return registered;
                         });
}

}  // namespace dogged::runtime
