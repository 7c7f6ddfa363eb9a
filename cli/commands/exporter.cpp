// `dogged exporter`: the state of the fleet, from the database, for Prometheus.
#include "cli/exporter/exporter.hpp"

#include <chrono>
#include <cstdlib>
#include <memory>

#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>

#include "cli/commands/commands.hpp"
#include "cli/input/choices.hpp"
#include "cli/io/interrupt.hpp"
#include "client/escaping_log.hpp"
#include "client/log_event.hpp"
#include "client/log_format.hpp"
#include "http/page_server.hpp"

namespace dogged::cli {
namespace {

using exporter::Exporter;

struct ExporterOptions {
  std::string listen = "127.0.0.1:9465";
  std::string log_format;
};

std::shared_ptr<spdlog::logger> make_exporter_log(LogFormat format) {
  auto log = std::make_shared<spdlog::logger>("dogged", std::make_shared<spdlog::sinks::stderr_color_sink_mt>());
  log->set_formatter(formatter_of(format));
  return escaping(log);
}

/// CLI11 would check the variable for every other subcommand as well.
LogFormat format_of_log(const ExporterOptions& options) {
  if (!options.log_format.empty()) return log_format_from_text("--log-format", options.log_format);
  const char* const variable = std::getenv(log_format_variable);
  if (variable == nullptr || *variable == '\0') return LogFormat::text;
  return log_format_from_text(log_format_variable, variable);
}

ExitCode export_metrics(const Invocation& invocation, const ExporterOptions& options) {
  const http::ListenAddress address = http::listen_address_from_text("--listen", options.listen);
  const auto log = make_exporter_log(format_of_log(options));
  stop_on_interrupt();
  // Settings that hold for each transaction: a pooler may be in between.
  Exporter fleet{[&invocation] {
                   return invocation.connect({.url = {},
                                              .application_name = "dogged exporter",
                                              .statement_timeout = exporter::longest_statement,
                                              .pooled = true});
                 },
                 log};
  const http::PageServer server{"--listen", address, [&fleet](std::string_view path, std::string_view accept) {
                                  return fleet.page(path, accept);
                                }};
  log->log(event("metrics_served"), spdlog::level::info, "metrics on http://{}/metrics, with /livez and /readyz",
           to_text(server.address()));
  while (!was_interrupted()) {
    fleet.require_going_on();
    pause(std::chrono::seconds{1});
  }
  fleet.stop();  // or the server would wait for scrapes that wait for the database
  log->log(event("exporter_stopped"), spdlog::level::info, "stopped");
  return ExitCode::ok;
}

}  // namespace

void add_exporter(CLI::App& app, Invocation& invocation) {
  const auto options = std::make_shared<ExporterOptions>();
  CLI::App* command = add_command(
      app, invocation, "exporter", "Serve the state of the whole fleet to Prometheus",
      "  dogged exporter\n"
      "  curl http://127.0.0.1:9465/metrics\n"
      "  dogged exporter --listen :9465       on every IPv4 address of this machine\n"
      "\nRun it once for a database, beside any number of workers: it tells what the database knows of all of\n"
      "them. It reads when it is scraped, and keeps one connection. The pages are /metrics, /livez and /readyz;\n"
      "they have no password. The rights of dogged_viewer do; the oldest snapshot needs pg_read_all_stats as\n"
      "well. What the database refuses is left out, and dogged_exporter_query_success says so. While the\n"
      "database is away, dogged_up is 0. It runs until Ctrl-C or SIGTERM, and then ends with 0.\n"
      "docs/metrics.md lists the metrics.",
      [&invocation, options] { return export_metrics(invocation, *options); });
  command
      ->add_option("--listen", options->listen,
                   "The address and port to listen on; port 0: any free one, which the log tells")
      ->type_name("ADDRESS:PORT")
      ->capture_default_str();
  command
      ->add_option(
          "--log-format", options->log_format,
          "text for people (if neither this nor DOGGED_LOG_FORMAT is given); json, an object a line, or logfmt "
          "for programs, with a name for each event")
      ->type_name("FORMAT")
      ->check(is_one_of({"text", "json", "logfmt"}, "a format of the log"));
}

}  // namespace dogged::cli
