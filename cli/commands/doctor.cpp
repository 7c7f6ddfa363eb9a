// `dogged doctor`: looks for what hurts a queue, says why and what to do, and ends with an exit code for monitoring.
#include <algorithm>
#include <memory>

#include "cli/commands/commands.hpp"
#include "cli/doctor/checks.hpp"
#include "cli/input/choices.hpp"
#include "cli/render/json_object.hpp"
#include "cli/render/text.hpp"
#include "db/connection.hpp"
#include "sql/migrate.hpp"
#include "text/counted.hpp"

namespace dogged::cli {
namespace {

using doctor::Finding;
using doctor::Findings;
using doctor::Level;

constexpr std::size_t level_width = 8;
constexpr std::size_t check_width = 11;

Color color_of(Level level) {
  return level == Level::ok ? Color::green : level == Level::warning ? Color::yellow : Color::red;
}

std::string json_of(const Finding& finding) {
  JsonObject figures;
  for (const auto& [name, value] : finding.figures) figures.add(name, value);
  const auto text_or_null = [](const std::string& text) { return text.empty() ? std::nullopt : std::optional{text}; };
  JsonObject json;
  json.add("check", finding.check)
      .add("level", to_text(finding.level))
      .add("subject", finding.subject)
      .add("seen", finding.seen)
      .add("why", text_or_null(finding.why))
      .add("fix", text_or_null(finding.fix))
      .add_json("figures", figures.text());
  return json.text();
}

std::string text_of(const Finding& finding, const Style& style) {
  constexpr std::size_t indent = level_width + check_width + 2 * column_gap;
  std::string left = style.paint(color_of(finding.level), pad_right(to_text(finding.level), level_width)) + "  " +
                     pad_right(finding.check, check_width) + "  ";
  std::string text;
  const auto add = [&](const std::string& title, const std::string& sentence) {
    if (sentence.empty()) return;
    const std::size_t width = std::max(style.width, narrowest_picture) - indent;
    for (const std::string& line : wrapped(title + harmless(sentence, style.unicode), width, style.unicode)) {
      text += left + line + "\n";
      left = std::string(indent, ' ');
    }
  };
  add("", finding.seen);
  add("why: ", finding.why);
  add("fix: ", finding.fix);
  return text;
}

std::int64_t count(const Findings& findings, Level level) {
  return std::count_if(findings.begin(), findings.end(), [&](const Finding& f) { return f.level == level; });
}

std::string summary(const Findings& findings) {
  const std::int64_t critical = count(findings, Level::critical);
  const std::int64_t warnings = count(findings, Level::warning);
  if (critical + warnings == 0) return "all is well\n";
  return std::to_string(critical) + " critical, " + counted(warnings, "warning") + "\n";
}

void print(const Invocation& invocation, const Findings& findings) {
  if (invocation.format != Format::table) {
    std::vector<Record> records;
    for (const Finding& finding : findings) records.push_back({{}, json_of(finding)});
    invocation.print({}, records, "");
    return;
  }
  std::string text;
  for (const Finding& finding : findings) text += text_of(finding, invocation.table_style());
  invocation.print(text + "\n" + summary(findings), "");
}

ExitCode diagnose(const Invocation& invocation, const std::string& fail_on) {
  db::Connection connection = invocation.connect_to_any_schema();
  if (!db::one(connection.run(sql::SchemaTables{})).present) (void)invocation.connect();  // says what to do
  Findings findings = doctor::run_checks(connection);
  std::stable_sort(findings.begin(), findings.end(),
                   [](const Finding& a, const Finding& b) { return a.level > b.level; });
  print(invocation, findings);
  const Level limit = fail_on == "critical" ? Level::critical : Level::warning;
  const bool has_failed =
      std::any_of(findings.begin(), findings.end(), [&](const Finding& f) { return f.level >= limit; });
  return has_failed ? ExitCode::not_done : ExitCode::ok;
}

}  // namespace

void add_doctor(CLI::App& app, Invocation& invocation) {
  const auto fail_on = std::make_shared<std::string>("warning");
  add_command(app, invocation, "doctor", "Look for what hurts the queue, and say why and what to do",
              "  dogged doctor\n"
              "  dogged doctor --fail-on critical >/dev/null || page somebody\n"
              "  dogged doctor -o json | jq '.[] | select(.level != \"ok\") | {check, seen, fix}'\n"
              "\nLevels:\n"
              "  critical  tasks do not run, or may be lost\n"
              "  warning   it works, and will not for long, or not as well as it could\n"
              "  ok        it was looked at, and all is well\n"
              "\nIt changes nothing. A check that the database refuses is a warning. The exit code is 0 if all is well "
              "and 1\nif something is at the level of --fail-on or above.",
              [&invocation, fail_on] { return diagnose(invocation, *fail_on); })
      ->add_option("--fail-on", *fail_on, "The level from which the exit code is 1: warning or critical")
      ->type_name("LEVEL")
      ->check(is_one_of({"warning", "critical"}, "a level"))
      ->capture_default_str();
}

}  // namespace dogged::cli
