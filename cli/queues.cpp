// `dogged queues`: what is in them, and new ones.
#include <memory>

#include "cli/commands.hpp"
#include "cli/json_object.hpp"
#include "cli/task_rows.hpp"
#include "sql_statements.hpp"

namespace dogged::cli {
namespace {

const std::vector<Column> columns{{"QUEUE", Align::left, true},
                                  {"READY", Align::right},
                                  {"WAITING", Align::right},
                                  {"RUNNING", Align::right},
                                  {"CREATED"}};

Record record_of(const db::Row& row, Zone zone) {
  const Time created_at = time_of(row, "created_at_us");
  JsonObject json;
  json.add("name", row.text("name"))
      .add("ready", row.number("ready"))
      .add("waiting", row.number("waiting"))
      .add("running", row.number("running"))
      .add("created_at", created_at);
  return {{{std::string{row.text("name")}},
           {std::to_string(row.number("ready"))},
           {std::to_string(row.number("waiting"))},
           {std::to_string(row.number("running"))},
           {date_and_clock_text(created_at, zone)}},
          json.text()};
}

ExitCode list(const Invocation& invocation) {
  db::Connection connection = invocation.connect();
  const db::Rows rows = connection.run(sql::list_queues);
  std::vector<Record> records;
  for (const db::Row& row : rows) records.push_back(record_of(row, invocation.style().zone));
  invocation.print(columns, records, "no queues");
  return ExitCode::ok;
}

ExitCode create(const Invocation& invocation, const std::string& name) {
  db::Connection connection = invocation.connect();
  connection.run(sql::create_queue, db::Params{}.add(name));
  invocation.print("queue " + name + " is there\n", JsonObject{}.add("name", name).text());
  return ExitCode::ok;
}

}  // namespace

void add_queues(CLI::App& app, Invocation& invocation) {
  CLI::App* queues = app.add_subcommand("queues", "Look at queues and create them");
  queues->require_subcommand(1);
  add_command(*queues, invocation, "list",
              "List queues with the tasks that are ready, waiting for their time, or running", "  dogged queues list",
              [&invocation] { return list(invocation); });
  const auto name = std::make_shared<std::string>();
  add_command(*queues, invocation, "create", "Create a queue; harmless if it is there",
              "  dogged queues create webhooks     before a worker that serves it has ever started",
              [&invocation, name] { return create(invocation, *name); })
      ->add_option("name", *name, "1 to 128 of A-Z a-z 0-9 . _ : / -")
      ->type_name("NAME")
      ->required();
}

}  // namespace dogged::cli
