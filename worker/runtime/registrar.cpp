// See registrar.hpp.
#include "runtime/registrar.hpp"

#include <exception>
#include <memory>
#include <string>

#include <dogged/error.hpp>

#include "base/session.hpp"
#include "client/log_event.hpp"
#include "db/connection.hpp"
#include "db/errors.hpp"
#include "migrate/migrate.hpp"
#include "migrate/missing_role.hpp"
#include "runtime/common.hpp"
#include "runtime/core/registering.hpp"
#include "sql/claim.hpp"
#include "sql/registration.hpp"
#include "sql/retention.hpp"
#include "tasks/definition.hpp"
#include "tasks/published.hpp"
#include "tasks/served_queues.hpp"
#include "text/duration.hpp"
#include "upkeep/declared_schedules.hpp"

namespace dogged::runtime {
namespace {

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

/// Throws the error in flight, with the missing role as its hint. complete_in is for workers alone, so a login that may
/// call it has the worker role.
[[noreturn]] void throw_with_role(const DatabaseError& error, Session& session) {
  if (!migrate::is_missing_right(error)) throw;
  const auto hint = migrate::hint_for_missing_role(session.connection(), "complete_in");
  throw DatabaseError(error.message(), hint.value_or(error.hint()), error.sqlstate());
}

class Registrar {
 public:
  Registrar(Common& common, Registering::Occasion occasion, Part part, std::optional<std::int64_t> previous)
      : common_(common), part_(part), session_(common.session(part)), registering_(occasion), previous_(previous) {}

  /// Nothing if the worker was told to stop before it could register.
  std::optional<Registration> run();

 private:
  using Step = Registering::Step;

  [[nodiscard]] Registering::Action next() const {
    return registering_.next(SteadyClock::now(), common_.stop.is_readable());
  }
  [[nodiscard]] db::Connection& connection() const { return session_->connection(); }
  void carry_out(const Registering::Action& action);
  void prepare();
  void ask();
  void find_holder();
  void declare_or_withdraw();
  [[noreturn]] void refuse() const;

  Common& common_;
  const Part part_;
  const std::shared_ptr<Session> session_;
  Registering registering_;
  std::optional<std::int64_t> previous_;  // the lease of this process, also one that a failed try has registered
  std::optional<NameHolder> holder_;
  Registration registered_;
};

std::optional<Registration> Registrar::run() {
  for (Registering::Action action = next(); action.step != Step::registered; action = next()) {
    if (action.step == Step::stop) return std::nullopt;
    try {
      carry_out(action);
    } catch (const DatabaseError& error) {
      common_.throw_if_defect(to_text(part_));
      registering_.on_failure();
      if (next().step == Step::fail) throw_with_role(error, *session_);
      session_->recover_from(error, {});
    } catch (const std::exception&) {  // a refusal, a schema that does not fit, or a mistake of dogged
      common_.throw_if_defect(to_text(part_));
      throw;
    }
  }
  session_->succeeded();
  return registered_;
}

void Registrar::carry_out(const Registering::Action& action) {
  switch (action.step) {
    case Step::prepare:
      return prepare();
    case Step::ask:
      return ask();
    case Step::find_holder:
      return find_holder();
    case Step::wait:
      (void)common_.stop.wait_until(action.until);
      return;
    case Step::declare:
      return declare_or_withdraw();
    case Step::refuse:
      refuse();
    case Step::registered:
    case Step::fail:
    case Step::stop:
      return;
  }
}

void Registrar::prepare() {
  require_usable(connection());
  const auto limits = db::one(connection().run(sql::ReadSettings{}));
  common_.attempts.limits.max_result_bytes = static_cast<std::size_t>(limits.max_result_bytes);
  common_.attempts.limits.max_error_message_bytes = static_cast<std::size_t>(limits.max_error_message_bytes);
  common_.attempts.installation = limits.installation;
  (void)connection().run(sql::MakePartitions{});
  const WorkerSettings& settings = common_.settings;
  if (!settings.create_queues) require_known_queues(connection(), settings.queues, *common_.definitions);
  registering_.on_prepared();
}

void Registrar::ask() {
  const auto registered = register_worker(connection(), common_.row(), *common_.definitions, previous_);
  if (!registered) return registering_.on_name_taken();
  registered_ = *registered;
  previous_ = registered->worker_id;
  registering_.on_registered();
}

void Registrar::find_holder() {
  holder_ = runtime::find_holder(connection(), common_.settings.name);
  std::optional<Registering::Holder> seen;
  if (holder_) seen = {holder_->id, holder_->heartbeat_at_us};
  if (!registering_.on_holder(seen, SteadyClock::now())) return;
  common_.log->log(event("name_in_use"), spdlog::level::warn,
                   "the name \"{}\" is in use by {}; waiting until its lease is renewed, or lapses in {}",
                   common_.settings.name, holder_->text, duration_to_text(holder_->lapses_in));
}

void Registrar::refuse() const {
  throw InvalidInput(
      "the name \"" + common_.settings.name + "\" is in use: " + holder_.value().text + " has just renewed its lease",
      "give each worker a name of its own with --name, or none: then it is made of host and process id");
}

void Registrar::declare_or_withdraw() {
  try {
    declare(common_, connection(), registered_.worker_id);
    tell_of_unserved(connection(), common_.settings.queues, *common_.definitions, *common_.log);
  } catch (...) {
    withdraw(connection(), registered_.worker_id);
    throw;
  }
  registering_.on_declared();
}

}  // namespace

std::optional<Registration> register_first(Common& common) {
  const std::optional<std::int64_t> previous = common.settings.previous_lease;
  const auto occasion = previous ? Registering::Occasion::restart : Registering::Occasion::start;
  return Registrar{common, occasion, Part::start, previous}.run();
}

std::optional<Registration> register_again(Common& common, std::int64_t lost) {
  const auto registered = Registrar{common, Registering::Occasion::lease_lost, Part::registration, lost}.run();
  if (registered) {
    common.log->log(event("lease_replaced"), spdlog::level::warn, "worker {} goes on as worker {}", lost,
                    registered->worker_id);
  }
  return registered;
}

}  // namespace dogged::runtime
