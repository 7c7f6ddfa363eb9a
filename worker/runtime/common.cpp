// See common.hpp.
#include "runtime/common.hpp"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include <dogged/tracer.hpp>

#include "base/session.hpp"
#include "client/escaping_log.hpp"
#include "db/errors.hpp"
#include "tasks/definition.hpp"
#include "upkeep/declared_schedules.hpp"

namespace dogged::runtime {
namespace {

/// Serves every queue of its tasks if it is told none.
WorkerSettings with_queues(WorkerSettings settings, const Definitions& definitions) {
  require_sound(settings);
  if (!settings.queues.empty()) return settings;
  for (const auto& [name, definition] : definitions) {
    settings.queues.emplace(definition.queue, settings.default_concurrency);
  }
  return settings;
}

}  // namespace

Common::Common(WorkerSettings of_worker, Definitions of_tasks, const std::shared_ptr<spdlog::logger>& logger,
               WakeFd stop_signal, std::shared_ptr<StatusBoard> status)
    : settings(with_queues(std::move(of_worker), of_tasks)),
      definitions(std::make_shared<const Definitions>(std::move(of_tasks))),
      log(escaping(logger)),
      schedules(std::make_shared<DeclaredSchedules>(settings.schedules, log)),
      stop(std::move(stop_signal)),
      board(status ? std::move(status) : std::make_shared<StatusBoard>(settings.name, settings.heartbeat)),
      attempts{.database_url = settings.database.url,
               .schema = settings.database.schema,
               .worker = settings.name,
               .tracer = settings.tracer,
               .tracing = settings.tracer ? trace_enqueues(settings.tracer) : nullptr} {}

Patience Common::patience(Part part) const { return patience_of(part, settings.lease, settings.heartbeat); }

std::shared_ptr<Session> Common::session(Part part) const {
  db::Settings database = settings.database;
  database.statement_timeout = patience(part).statement_timeout;
  database.pooled = settings.poll_only;
  // The claimer claims nothing while the completer could not record how an attempt ends.
  const bool is_needed_to_work = part == Part::claimer || part == Part::completer || part == Part::lease;
  return std::make_shared<Session>(std::move(database), std::string{to_text(part)}, log, patience(part).longest_backoff,
                                   is_needed_to_work ? board->failures() : nullptr);
}

void Common::note_defect(std::string_view part, std::exception_ptr error) {
  defect.note(std::string{part}, std::move(error));
}

void Common::note_if_defect(std::string_view part) noexcept {
  try {
    throw;
  } catch (const std::exception& error) {
    if (db::is_defect(error)) note_defect(part, std::current_exception());
  } catch (...) {  // not dogged's
  }
}

void Common::throw_if_defect(std::string_view part) {
  note_if_defect(part);
  defect.rethrow();
}

}  // namespace dogged::runtime
