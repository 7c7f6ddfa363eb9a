// One run of the command line: the options that every subcommand takes, the chosen subcommand, and the output.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "cli/failure.hpp"
#include "cli/render/style.hpp"
#include "cli/render/table.hpp"
#include "db/connection_fwd.hpp"
#include "db/settings.hpp"

namespace dogged::cli {

enum class Format { table, json, ndjson };

/// A record in both of its forms.
struct Record {
  std::vector<Cell> cells;
  std::string json;
};

class Invocation {
 public:
  std::string database_url;
  std::string schema = "dogged";
  Format format = Format::table;
  bool wide = false;  ///< a table with all of its columns, and times in full
  std::string color = "auto";
  bool ascii = false;
  bool utc = false;

  /// A function or table that stands for the rights of the subcommand: a login that may use it may do the whole work.
  /// Empty if a refused statement tells as much.
  std::string needed_right;

  /// The work of the subcommand. Set after the command line was read, so that mistakes in the command line are found
  /// first.
  std::function<ExitCode()> run;

  /// For what people read on stdout.
  [[nodiscard]] Style style() const;
  /// Lines as wide as the terminal, or as COLUMNS says; where neither is there, as long as they are.
  [[nodiscard]] Style table_style() const;

  /// For drawings: `style`, with texts in full where neither a terminal nor COLUMNS says how wide lines are.
  [[nodiscard]] Style drawing_style() const;

  /// People watch: progress is drawn on stderr.
  [[nodiscard]] bool shows_progress() const;

  /// A connection to the database that the options and the environment name (find_database_url).
  /// Takes all but the URL and the schema from `settings`.
  [[nodiscard]] db::Connection connect_to_any_schema(db::Settings settings = {.url = {},
                                                                              .application_name = "dogged cli"}) const;
  /// The same, with a schema that this program can work with.
  [[nodiscard]] db::Connection connect(db::Settings settings = {.url = {}, .application_name = "dogged cli"}) const;

  /// Records as a table, one JSON array, or a line each. `if_none` is said on stderr where a table has no
  /// rows.
  void print(const std::vector<Column>& columns, const std::vector<Record>& records, const std::string& if_none) const;
  /// One thing: text that ends with a newline, or a JSON object on a line.
  void print(const std::string& text, const std::string& json) const;
};

/// A subcommand with its examples at the end of its help, which calls `run` if it is chosen.
CLI::App* add_command(CLI::App& parent, Invocation& invocation, const std::string& name, const std::string& description,
                      const std::string& examples, std::function<ExitCode()> run);

}  // namespace dogged::cli
