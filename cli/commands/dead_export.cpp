// `dogged dead export`: dead letters as lines of JSON.
#include <iostream>
#include <memory>

#include "cli/commands/commands.hpp"
#include "cli/commands/dead_letters.hpp"
#include "cli/input/choices.hpp"
#include "cli/io/interrupt.hpp"
#include "cli/io/letter_file.hpp"
#include "cli/render/json_object.hpp"
#include "db/connection.hpp"
#include "sql/dead.hpp"
#include "text/escaped.hpp"

namespace dogged::cli {
namespace {

// With args and attempts in memory.
constexpr std::size_t export_batch = 100;

}  // namespace

DeadLetters export_dead_letters(const Invocation& invocation, db::Connection& connection, const DeadLetters& letters,
                                const std::function<void(const std::string&)>& write) {
  DeadLetters exported;
  DeadResults results;
  work_through(
      invocation, letters, export_batch, "exported",
      [&](const DeadLetters& batch, DeadResults& done) {
        std::string lines;
        const sql::ExportDead letters_of_batch{.ids = ids_of(batch), .attempts = attempts_of(batch)};
        for (const auto& [id, attempt, letter] : connection.run(letters_of_batch)) {
          (lines += letter) += "\n";
          exported.push_back({id, attempt});
          done.add(id, {"exported", "", std::nullopt});
        }
        write(lines);
        return DeadLetters{};
      },
      results);
  return exported;
}

namespace {

ExitCode run_export(const Invocation& invocation, const DeadFilterOptions& filter_options, const std::string& path) {
  DeadFilter filter{filter_options, "dead export", "exported"};
  filter.require_choice("dead export");
  db::Connection connection = invocation.connect();
  filter.resolve(connection, invocation.style().zone);
  DeadResults results;
  const DeadLetters letters = find_dead_letters(connection, filter, results);
  if (letters.empty() && results.size() == 0 && (!filter.ids() || !filter.ids()->empty())) {
    throw Failure(ExitCode::not_done, "no dead letter is what the filter takes; nothing was exported",
                  "`dogged dead top` shows what there is");
  }
  std::optional<LetterFile> file;
  if (!path.empty()) file.emplace(path);
  const DeadLetters exported = export_dead_letters(invocation, connection, letters, [&](const std::string& lines) {
    if (file) {
      file->write(lines);
    } else {
      std::cout << escaped_json(lines);
    }
  });
  if (file) {
    file->finish();
    const auto count = static_cast<std::int64_t>(exported.size());
    const auto written = count > 0 ? std::optional{path} : std::nullopt;
    invocation.print("exported " + dead_letters_text(count) + (written ? " to " + *written : "") + "\n",
                     JsonObject{}.add("exported", count).add("file", written).text());
  }
  if (was_interrupted()) {
    throw Failure(ExitCode::interrupted,
                  "interrupted: " + dead_letters_text(static_cast<std::int64_t>(exported.size())) + " exported");
  }
  if (const std::string not_done = results.not_done(); !not_done.empty()) {
    throw Failure(ExitCode::not_done, "not exported: " + not_done, "`dogged tasks show ID` tells how a task stands");
  }
  return ExitCode::ok;
}

}  // namespace

void add_dead_export(CLI::App& dead, Invocation& invocation) {
  const auto filter = std::make_shared<DeadFilterOptions>();
  const auto path = std::make_shared<std::string>();
  CLI::App* command = add_command(dead, invocation, "export",
                                  "Write dead letters as lines of JSON, with args as they are and all attempts",
                                  "  dogged dead export --all --file dead.ndjson\n"
                                  "  dogged dead export --error-code HTTP_503 | jq -r .args.url | sort | uniq -c\n"
                                  "\nNothing is changed. Args are not redacted, for `dogged dead import` puts them "
                                  "back: the file is new, and can be\n"
                                  "read by you alone.",
                                  [&invocation, filter, path] { return run_export(invocation, *filter, *path); });
  add_dead_choice(*command, filter);
  command->add_option("--file", *path, "A new file; stdout unless said")->type_name("FILE")->check(is_not_empty());
}

}  // namespace dogged::cli
