// One run of the command line.
#include "cli/invocation.hpp"

#include <cstdlib>
#include <iostream>
#include <limits>
#include <optional>
#include <utility>

#include <sys/ioctl.h>
#include <unistd.h>

#include "cli/render/json_object.hpp"
#include "client/database_url.hpp"
#include "db/connection.hpp"
#include "db/conninfo.hpp"
#include "migrate/migrate.hpp"

namespace dogged::cli {
namespace {

constexpr std::size_t usual_width = 80;
constexpr std::size_t widest = 1000;

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

/// By COLUMNS, else the terminal's; nothing where stdout is none.
std::optional<std::size_t> output_width() {
  const int columns = std::atoi(environment("COLUMNS").c_str());
  if (columns > 0) return std::min(static_cast<std::size_t>(columns), widest);
  winsize size{};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
    return std::min<std::size_t>(size.ws_col, widest);
  return std::nullopt;
}

/// By the variables that decide a program's locale, the strongest first.
bool locale_is_utf8() {
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    const std::string locale = environment(name);
    if (locale.empty()) continue;
    for (const char* spelling : {"UTF-8", "utf-8", "UTF8", "utf8"}) {
      if (locale.find(spelling) != std::string::npos) return true;
    }
    return false;
  }
  return false;
}

bool wants_color(const std::string& choice) {
  if (choice != "auto") return choice == "always";
  return environment("NO_COLOR").empty() && environment("TERM") != "dumb" && isatty(STDOUT_FILENO) == 1;
}

}  // namespace

Style Invocation::style() const {
  return {.width = output_width().value_or(usual_width),
          .wide = wide,
          .unicode = !ascii && locale_is_utf8(),
          .color = wants_color(color),
          .zone = utc ? Zone::utc : Zone::local};
}

Style Invocation::table_style() const {
  Style chosen = style();
  if (!output_width()) chosen.width = std::numeric_limits<std::size_t>::max();
  return chosen;
}

Style Invocation::drawing_style() const {
  Style chosen = style();
  chosen.uncut = wide || !output_width();
  return chosen;
}

bool Invocation::shows_progress() const { return format == Format::table && isatty(STDERR_FILENO) == 1; }

db::Connection Invocation::connect_to_any_schema(db::Settings settings) const {
  DatabaseUrl database = find_database_url(database_url);
  if (!database_url.empty()) database.source = "--database-url";
  settings.url = database.url;
  settings.schema = schema;
  try {
    return db::Connection{std::move(settings)};
  } catch (...) {
    rethrow_with_source(database);
  }
}

db::Connection Invocation::connect(db::Settings settings) const {
  db::Connection connection = connect_to_any_schema(std::move(settings));
  migrate::require_current(connection);
  return connection;
}

void Invocation::print(const std::vector<Column>& columns, const std::vector<Record>& records,
                       const std::string& if_none) const {
  if (format == Format::table) {
    std::vector<std::vector<Cell>> rows;
    for (const Record& record : records) rows.push_back(record.cells);
    if (rows.empty()) {
      std::cerr << if_none << "\n";
    } else {
      std::cout << render_table(columns, rows, table_style());
    }
    return;
  }
  const bool array = format == Format::json;
  if (array) std::cout << "[";
  for (std::size_t i = 0; i < records.size(); ++i) {
    if (array) std::cout << (i == 0 ? "\n" : ",\n");
    std::cout << records[i].json;
    if (!array) std::cout << "\n";
  }
  if (array) std::cout << (records.empty() ? "]\n" : "\n]\n");
}

void Invocation::print(const std::string& text, const std::string& json) const {
  if (format == Format::table) {
    std::cout << text;
  } else {
    std::cout << json << "\n";
  }
}

CLI::App* add_command(CLI::App& parent, Invocation& invocation, const std::string& name, const std::string& description,
                      const std::string& examples, std::function<ExitCode()> run) {
  CLI::App* command = parent.add_subcommand(name, description);
  command->footer("Examples:\n" + examples);
  command->callback([&invocation, run = std::move(run)] { invocation.run = run; });
  return command;
}

}  // namespace dogged::cli
