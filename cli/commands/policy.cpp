// `dogged policy`: the policies of the declared tasks, and what one policy means, delay by delay.
#include <algorithm>
#include <iostream>
#include <memory>

#include <nlohmann/json.hpp>

#include <dogged/resolved_retry_config.hpp>

#include "cli/commands/commands.hpp"
#include "cli/io/task_rows.hpp"
#include "cli/options/existing.hpp"
#include "cli/render/codes_text.hpp"
#include "cli/render/delay_plot.hpp"
#include "cli/render/json_object.hpp"
#include "cli/render/table.hpp"
#include "cli/render/text.hpp"
#include "db/connection.hpp"
#include "sql/commands.hpp"

namespace dogged::cli {
namespace {

struct PolicyOptions {
  std::vector<std::string> words;
  std::string task;
};

RetryPolicy read_policy(const std::string& text) {
  const auto first = text.find_first_not_of(" \t\n");
  return first != std::string::npos && text[first] == '{' ? policy_from_json(text) : policy_from_text(text);
}

DefinitionView read_definition(const Invocation& invocation, const std::string& name) {
  db::Connection connection = invocation.connect();
  auto definitions = connection.run(sql::ListDefinitions{.name = name});
  if (definitions.empty()) throw not_there(connection, Noun::task, name);
  return definition_of(std::move(definitions.front()));
}

std::string range_json(const DelayRange& range, JsonObject json = {}) {
  return json.add("shortest_ms", static_cast<std::int64_t>(range.shortest.count()))
      .add("delay_ms", static_cast<std::int64_t>(range.backoff.count()))
      .add("longest_ms", static_cast<std::int64_t>(range.longest.count()))
      .text();
}

std::string to_json(const RetryPolicy& policy, const std::optional<DefinitionView>& definition) {
  const std::vector<DelayRange> delays = delays_of(policy);
  std::vector<std::string> each;
  for (std::size_t i = 0; i < delays.size(); ++i) {
    JsonObject numbered;
    each.push_back(range_json(delays[i], numbered.add("retry", static_cast<std::int64_t>(i + 1))));
  }
  JsonObject json;
  json.add("text", policy_to_text(policy))
      .add_json("policy", policy_to_json(policy))
      .add("max_retries", max_retries(policy))
      .add_json("delays", json_array(each))
      .add_json("total", range_json(total_of(delays)));
  if (definition) {
    json.add_json("definition", to_json(*definition));
  } else {
    json.add_null("definition");
  }
  return json.text();
}

std::string heading(const RetryPolicy& policy, const std::optional<DefinitionView>& definition, const Style& style) {
  std::string text;
  const auto add = [&](const std::string& sentence, Color color) {
    const std::size_t width = std::max(style.width, narrowest_picture);
    for (const std::string& line : wrapped(harmless(sentence, style.unicode), width, style.unicode)) {
      text += style.paint(color, line) + "\n";
    }
  };
  if (definition) {
    const std::string codes = codes_text(definition->auto_retry_for, style.wide);
    text = style.paint(Color::bold, definition->name) + " in queue " + definition->queue + "\n";
    add("retried for " + (codes.empty() ? "no error code: this policy is never used" : codes), Color::plain);
  }
  add(policy_to_text(policy), Color::bold);
  return text + "\n";
}

/// Published with policy_type circuit_breaker, whose retries a fixed policy makes: its delay comes from there.
constexpr std::string_view breaker_delay = "recovery_timeout";

std::string source_of(const DefinitionView& definition, std::string_view setting) {
  const auto source = definition.retry_sources.find(setting);
  return source == definition.retry_sources.end() ? "" : source->second;
}

/// The settings of the declaration, with where the worker that published it has them from.
std::string render_settings(const DefinitionView& definition, const Style& style) {
  std::vector<std::vector<Cell>> rows;
  const auto add_from = [&](const std::string& source, std::string_view setting, const std::string& value) {
    rows.push_back({{std::string{setting}}, {value}, {source, Color::dim}});
  };
  const auto add = [&](std::string_view setting, const std::string& value) {
    add_from(source_of(definition, setting), setting, value);
  };
  const std::string breaker_source = source_of(definition, breaker_delay);
  const bool is_breaker = !breaker_source.empty();
  const ResolvedRetryConfig declared = resolve_retry_config({.operation = definition.name,
                                                             .policy = definition.policy,
                                                             .dead_letter_enabled = definition.dead_letter,
                                                             .circuit_breaker = definition.circuit_settings,
                                                             .environment = {}});
  for (const ResolvedRetryField& field : declared.fields) {
    if (field.name == "auto_retry_for") {
      const std::string codes = codes_text(definition.auto_retry_for, style.wide);
      add(field.name, codes.empty() ? "none" : codes);
    } else if (is_breaker && field.name == "policy_type") {
      add(field.name, "circuit_breaker");
    } else if (is_breaker && field.name == "initial_delay") {
      add_from("recovery_timeout of circuit_breaker, " + breaker_source, field.name, field.value);
    } else if (field.used && !(is_breaker && field.name == "max_delay")) {
      add(field.name, field.cut ? field.value + ", cut by max_delay" : field.value);
    }
  }
  if (definition.circuit) add("circuit", *definition.circuit);
  return render_table(
      {{.title = "SETTING"}, {.title = "VALUE", .least = 20}, {.title = "SOURCE", .least = 20, .cut = Cut::middle}},
      rows, style);
}

ExitCode show(const Invocation& invocation, const PolicyOptions& options) {
  if (options.words.empty() == options.task.empty()) {
    throw Failure(ExitCode::wrong_input, "give either a policy or --task NAME",
                  "for example: dogged policy show 'exponential base=30s max_retries=5'");
  }
  std::optional<DefinitionView> definition;
  if (!options.task.empty()) definition = read_definition(invocation, options.task);
  const RetryPolicy policy = definition ? definition->policy : read_policy(joined(options.words, " "));
  require_valid(policy);
  const Style style = invocation.style();
  std::string text = heading(policy, definition, style) + render_delays(policy, style);
  if (definition) text += "\n" + render_settings(*definition, invocation.table_style());
  invocation.print(text, to_json(policy, definition));
  return ExitCode::ok;
}

const std::vector<Column> definition_columns{{.title = "NAME", .least = 24, .cut = Cut::middle},
                                             {.title = "QUEUE", .rank = 1, .least = 10, .cut = Cut::middle},
                                             {.title = "POLICY", .least = 16},
                                             {.title = "RETRIED FOR", .least = 16, .enough = 32}};

Record record_of(const DefinitionView& definition, const Style& style) {
  const std::string codes = codes_text(definition.auto_retry_for, style.wide);
  return {
      {{definition.name}, {definition.queue}, {policy_to_text(definition.policy)}, {codes.empty() ? "no code" : codes}},
      to_json(definition)};
}

ExitCode list_policies(const Invocation& invocation) {
  db::Connection connection = invocation.connect();
  const Style style = invocation.style();
  std::vector<Record> records;
  std::string left_out;
  for (auto& row : connection.run(sql::ListDefinitions{.name = std::nullopt})) {
    const std::string name = row.name;
    try {
      records.push_back(record_of(definition_of(std::move(row)), style));
    } catch (const InvalidPolicy& error) {  // of a newer version: the others are listed
      left_out += "task " + name + " is left out: " + harmless(error.message(), style.unicode) + "\n";
    }
  }
  if (!records.empty() || left_out.empty() || invocation.format != Format::table) {
    invocation.print(definition_columns, records,
                     "no worker has declared a task yet; start a worker, which declares its tasks");
  }
  std::cout.flush();
  std::cerr << left_out;
  return ExitCode::ok;
}

}  // namespace

void add_policy(CLI::App& app, Invocation& invocation) {
  const auto options = std::make_shared<PolicyOptions>();
  CLI::App* policy = app.add_subcommand("policy", "List the retry policies of tasks, or look at one");
  policy->require_subcommand(1);
  add_command(*policy, invocation, "list", "List the tasks that workers have declared, with their policies",
              "  dogged policy\n"
              "  dogged policy list -o ndjson | jq -r 'select(.auto_retry_for == []).name'     what is never retried",
              [&invocation] { return list_policies(invocation); });
  CLI::App* command =
      add_command(*policy, invocation, "show", "Print and plot the delays of a policy, with the range of their jitter",
                  "  dogged policy show 'exponential base=30s max_retries=5'\n"
                  "  dogged policy show fixed intervals=60s,300s,900s jitter=none\n"
                  "  dogged policy show 'linear initial=1s increment=5s max_retries=4 max_delay=10s'\n"
                  "  dogged policy show --task webhook.deliver      what applies, and where it comes from",
                  [&invocation, options] { return show(invocation, *options); });
  command->add_option("policy", options->words, "A policy as text or as JSON; needs no database")->type_name("POLICY");
  command
      ->add_option("--task", options->task,
                   "The policy of a task that a worker has declared, and where each of its settings comes from")
      ->type_name("NAME");
}

}  // namespace dogged::cli
