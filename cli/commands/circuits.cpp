// `dogged circuits`: the breakers that workers share, and opening and closing one by hand.
#include <memory>

#include <nlohmann/json.hpp>

#include "circuit/shared_circuit.hpp"
#include "cli/changes/audited_change.hpp"
#include "cli/changes/forced_circuits.hpp"
#include "cli/commands/commands.hpp"
#include "cli/io/task_rows.hpp"
#include "cli/options/existing.hpp"
#include "cli/render/json_object.hpp"
#include "cli/render/text.hpp"
#include "db/connection.hpp"
#include "sql/circuit.hpp"
#include "text/counted.hpp"

namespace dogged::cli {
namespace {

using circuit::SharedCircuit;

const std::vector<Column> circuit_columns{{.title = "CIRCUIT", .least = 24},
                                          {.title = "STATE"},
                                          {.title = "SINCE", .rank = 2},
                                          {.title = "COUNTED"},
                                          {.title = "SETTINGS", .rank = 3, .least = 25},
                                          {.title = "TASKS", .rank = 1, .least = 16, .enough = 32}};

Color color_of(CircuitState state) {
  switch (state) {
    case CircuitState::closed:
      return Color::green;
    case CircuitState::open:
      return Color::red;
    case CircuitState::half_open:
      return Color::yellow;
  }
  return Color::plain;
}

/// How far it is from its next state.
Cell standing_cell(const SharedCircuit& shared, Zone zone) {
  const detail::Circuit& circuit = shared.circuit;
  const CircuitBreakerSettings& settings = shared.settings;
  if (circuit.state == CircuitState::closed) {
    return {std::to_string(circuit.failures) + " of " + counted(settings.failure_threshold, "failure")};
  }
  if (circuit.state == CircuitState::half_open) {
    return {std::to_string(circuit.successes) + " of " + std::to_string(settings.success_threshold) +
            (settings.success_threshold == 1 ? " success" : " successes")};
  }
  if (circuit.is_forced) return {"by hand, until closed by hand"};
  const Time probes_at = time_from_microseconds(1000 * circuit.since_ms) + settings.recovery_timeout;
  const Time now = time_from_microseconds(1000 * shared.now_ms);
  if (probes_at <= now) return {"probes may run"};
  return {"probes in " + short_duration(probes_at - now), Color::plain,
          "probes at " + date_and_clock_text(probes_at, zone)};
}

std::string settings_text(const CircuitBreakerSettings& settings) {
  return counted(settings.failure_threshold, "failure") + ", " + readable(settings.recovery_timeout) + ", " +
         std::to_string(settings.success_threshold) + (settings.success_threshold == 1 ? " success" : " successes");
}

JsonObject members_of(const SharedCircuit& shared) {
  const detail::Circuit& circuit = shared.circuit;
  JsonObject json;
  json.add("name", shared.name)
      .add("state", to_text(circuit.state))
      .add("is_forced", circuit.is_forced)
      .add("failures", circuit.failures)
      .add("successes", circuit.successes)
      .add("probes", circuit.probes)
      .add("failure_threshold", shared.settings.failure_threshold)
      .add("recovery_timeout_ms", std::int64_t{shared.settings.recovery_timeout.count()})
      .add("success_threshold", shared.settings.success_threshold);
  return json;
}

Record record_of(const sql::Circuits::Row& row, const Style& style) {
  const SharedCircuit shared = circuit::shared_circuit_of(row);
  const Time changed_at = time_from_microseconds(row.changed_at_us);
  return {{{shared.name},
           {std::string{to_text(shared.circuit.state)}, color_of(shared.circuit.state)},
           time_cell(changed_at, time_from_microseconds(1000 * shared.now_ms), style.zone),
           standing_cell(shared, style.zone),
           {settings_text(shared.settings)},
           {joined(nlohmann::json::parse(row.tasks).get<std::vector<std::string>>())}},
          members_of(shared).add("changed_at", changed_at).add_json("tasks", row.tasks).text()};
}

ExitCode list(const Invocation& invocation) {
  db::Connection connection = invocation.connect();
  std::vector<Record> records;
  for (const auto& row : connection.run(sql::Circuits{})) records.push_back(record_of(row, invocation.style()));
  invocation.print(circuit_columns, records, "no circuits: no worker has declared a task with .circuit");
  return ExitCode::ok;
}

ExitCode change(const Invocation& invocation, const std::string& name,
                SharedCircuit (*how)(db::Connection&, std::string_view, std::string_view)) {
  db::Connection connection = invocation.connect();
  require_existing(connection, Noun::circuit, {name});
  const SharedCircuit shared = how(connection, name, user_at_host());
  const bool is_open = shared.circuit.state == CircuitState::open;
  invocation.print("circuit " + harmless(name, true) + " is " + std::string{to_text(shared.circuit.state)} +
                       (is_open ? ": its tasks are deferred until it is closed: dogged circuits close " + name : "") +
                       "\n",
                   members_of(shared).text());
  return ExitCode::ok;
}

}  // namespace

void add_circuits(CLI::App& app, Invocation& invocation) {
  CLI::App* circuits = app.add_subcommand("circuits", "Look at circuit breakers, open and close them");
  circuits->require_subcommand(1);
  add_command(*circuits, invocation, "list", "List the circuit breakers that workers share, with their tasks",
              "  dogged circuits list\n  dogged circuits list -o json", [&invocation] { return list(invocation); });
  const auto add_change = [&](const std::string& verb, const std::string& what, const std::string& example, auto how) {
    const auto name = std::make_shared<std::string>();
    add_command(*circuits, invocation, verb, what, example,
                [&invocation, name, how] { return change(invocation, *name, how); })
        ->add_option("name", *name, "As `dogged circuits list` gives it")
        ->type_name("NAME")
        ->required();
  };
  add_change("open", "Defer the tasks of a circuit until it is closed by hand; what runs may finish",
             "  dogged circuits open payments-api      before its maintenance begins", &open_circuit);
  add_change(
      "close",
      "Let the tasks of a circuit run again, with nothing counted against it; deferred tasks run when their time "
      "has come",
      "  dogged circuits close payments-api", &close_circuit);
}

}  // namespace dogged::cli
