// `dogged dead import`: dead letters are put back as `dogged dead export` wrote them.
#include <algorithm>
#include <iostream>
#include <memory>

#include <unistd.h>

#include "cli/changes/audited_change.hpp"
#include "cli/commands/commands.hpp"
#include "cli/commands/dead_letters.hpp"
#include "cli/input/new_tasks.hpp"
#include "cli/io/interrupt.hpp"
#include "cli/io/line_reader.hpp"
#include "cli/render/json_object.hpp"
#include "db/connection.hpp"
#include "sql/dead.hpp"

namespace dogged::cli {
namespace {

constexpr std::size_t import_batch_lines = 200;
constexpr std::size_t import_batch_bytes = std::size_t{16} << 20U;
// Of a kind, in a message.
constexpr std::size_t most_lines_listed = 10;

struct Line {
  std::int64_t number = 0;
  std::string text;
};

class Import {
 public:
  Import(const Invocation& invocation, db::Connection& connection) : invocation_(invocation), connection_(connection) {}

  void run(LineReader lines) {
    std::vector<Line> batch;
    std::size_t bytes = 0;
    std::string text;
    std::int64_t number = 0;
    const auto read_line = [&] {
      try {
        return lines.next(text);
      } catch (const InvalidInput& error) {
        fail({number + 1, ""}, error);
      }
    };
    while (!was_interrupted() && read_line()) {
      ++number;
      if (text.find_first_not_of(" \t\r") == std::string::npos) continue;
      batch.push_back({number, text});
      bytes += text.size();
      if (batch.size() < import_batch_lines && bytes < import_batch_bytes) continue;
      put_back(batch);
      batch.clear();
      bytes = 0;
    }
    if (!was_interrupted() && !batch.empty()) put_back(batch);
  }

  ExitCode conclude() const {
    invocation_.print("imported " + dead_letters_text(imported_) + "\n",
                      JsonObject{}.add("imported", imported_).text());
    std::cout.flush();
    if (was_interrupted()) {
      throw Failure(ExitCode::interrupted, "interrupted: " + dead_letters_text(imported_) + " imported",
                    "run it again: those that are there are not imported twice");
    }
    std::string message;
    for (const auto& [reason, numbers] : not_imported_) {
      (message += message.empty() ? "not imported: " : "; ") += lines_text(numbers) + " (" + reason + ")";
    }
    if (!message.empty()) {
      throw Failure(ExitCode::not_done, message,
                    "`dogged tasks show ID` shows the task that has the id; `dogged queues create NAME` makes a queue");
    }
    return ExitCode::ok;
  }

 private:
  static std::string reason_of(const std::string& result) {
    if (result == "no_queue") return "its queue does not exist";
    if (result == "too_old") {
      return "it failed longer ago than dead letters are kept, settings.keep_failed_days or the queue's own";
    }
    return "its id is taken";
  }

  static std::string lines_text(const std::vector<std::int64_t>& numbers) {
    std::string text = numbers.size() == 1 ? "line " : "lines ";
    for (std::size_t i = 0; i < std::min(numbers.size(), most_lines_listed); ++i) {
      (text += i == 0 ? "" : ", ") += std::to_string(numbers[i]);
    }
    if (numbers.size() > most_lines_listed) {
      text += " and " + std::to_string(numbers.size() - most_lines_listed) + " more";
    }
    return text;
  }

  [[noreturn]] void fail(const Line& line, const Error& error) const {
    throw Failure(imported_ > 0 ? ExitCode::not_done : exit_code_for(error),
                  "line " + std::to_string(line.number) + ": " + error.message() + " (" +
                      (imported_ == 0 ? "nothing was imported" : dead_letters_text(imported_) + " before it imported") +
                      ", and nothing after it)",
                  error.hint());
  }

  void put_back(const std::vector<Line>& lines) {
    std::vector<std::string> letters;
    for (const Line& line : lines) {
      try {
        require_json("the dead letter", line.text, "");
      } catch (const Error& error) {
        fail(line, error);
      }
      letters.push_back(line.text);
    }
    try {
      take(run_audited(connection_, sql::ImportDead{.letters = letters}), lines);
    } catch (const InvalidInput& error) {
      if (lines.size() == 1) fail(lines.front(), error);
      // One line is no dead letter. Imported one by one, the lines before it get in, and the error names it.
      for (const Line& line : lines) put_back({line});
    } catch (const ConnectionError& error) {
      throw Failure(exit_code_for(error), error.message() + " (" + dead_letters_text(imported_) + " imported before)",
                    "run it again: of those that are there already it says that their id is taken");
    }
  }

  void take(const std::vector<sql::ImportDead::Row>& rows, const std::vector<Line>& lines) {
    for (const auto& row : rows) {
      if (row.result == "imported") {
        ++imported_;
        continue;
      }
      const std::int64_t number = lines.at(static_cast<std::size_t>(row.place - 1)).number;
      not_imported_[reason_of(row.result)].push_back(number);
    }
  }

  const Invocation& invocation_;
  db::Connection& connection_;
  std::int64_t imported_ = 0;
  std::map<std::string, std::vector<std::int64_t>> not_imported_;
};

ExitCode run_import(const Invocation& invocation, const std::string& path) {
  const InputFile input{path};
  db::Connection connection = invocation.connect();
  stop_on_interrupt();
  Import work{invocation, connection};
  work.run(input.lines());
  return work.conclude();
}

}  // namespace

void add_dead_import(CLI::App& dead, Invocation& invocation) {
  const auto path = std::make_shared<std::string>();
  add_command(
      dead, invocation, "import", "Put dead letters back that were exported, or purged with --export",
      "  dogged dead import purged.ndjson\n"
      "  jq -c 'select(.args.region == \"eu\")' purged.ndjson | dogged dead import -\n"
      "\nEach keeps its id, its args, its error, its times and its attempts. A line whose id is taken by a task is "
      "not\n"
      "imported: the others are, and the exit code is 1. So a file may be imported again after an interruption.",
      [&invocation, path] { return run_import(invocation, *path); })
      ->add_option("file", *path, "As `dogged dead export` writes it; - reads stdin")
      ->type_name("FILE")
      ->required();
}

}  // namespace dogged::cli
