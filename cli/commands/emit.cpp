// `dogged emit`: an event for tasks that wait for it.
#include <memory>

#include "cli/commands/commands.hpp"
#include "cli/input/new_tasks.hpp"
#include "cli/io/line_reader.hpp"
#include "cli/render/json_object.hpp"
#include "db/connection.hpp"
#include "sql/commands.hpp"
#include "text/counted.hpp"

namespace dogged::cli {
namespace {

struct EmitOptions {
  std::string name;
  std::string payload = "null";
};

ExitCode emit(const Invocation& invocation, const EmitOptions& options) {
  const std::string payload = options.payload == "-" ? InputFile{options.payload}.text() : options.payload;
  require_json("PAYLOAD", payload);
  db::Connection connection = invocation.connect();
  const auto [resumed] = db::one(connection.run(sql::Emit{.name = options.name, .payload = payload}));
  invocation.print("event " + options.name + " emitted; it resumed " + counted(resumed, "task") + "\n",
                   JsonObject{}.add("name", options.name).add("resumed", resumed).text());
  return ExitCode::ok;
}

}  // namespace

void add_emit(CLI::App& app, Invocation& invocation) {
  const auto options = std::make_shared<EmitOptions>();
  CLI::App* command = add_command(
      app, invocation, "emit", "Send an event to the tasks that wait for it",
      "  dogged emit payment:42 '{\"amount\": 1200}'\n"
      "  dogged emit deploy-finished\n"
      "  curl --silent https://shop/payments/42 | dogged emit payment:42 -\n"
      "\nA handler waits by ctx.wait_event(\"payment:42\", timeout), without a worker. All tasks that wait\n"
      "for the name go on. A task that waits for it later finds the event too, for\n"
      "settings.keep_events_days (7); of several of a name it gets the latest.",
      [&invocation, options] { return emit(invocation, *options); });
  command->add_option("name", options->name, "The event: 1 to 128 of A-Z a-z 0-9 . _ : / -")
      ->type_name("NAME")
      ->required();
  command->add_option("payload", options->payload, "What it carries, as JSON (null); - reads it from stdin")
      ->type_name("PAYLOAD");
}

}  // namespace dogged::cli
