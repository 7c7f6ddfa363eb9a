// `dogged exporter`: the state of the fleet, from the database, for Prometheus.
#include "cli/exporter/exporter.hpp"

#include <chrono>
#include <memory>

#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include "cli/commands/commands.hpp"
#include "cli/io/interrupt.hpp"
#include "client/escaping_log.hpp"
#include "http/page_server.hpp"

namespace dogged::cli {
namespace {

using exporter::Exporter;

std::shared_ptr<spdlog::logger> make_exporter_log() {
  auto log = std::make_shared<spdlog::logger>("dogged", std::make_shared<spdlog::sinks::stderr_sink_mt>());
  log->set_pattern("%Y-%m-%dT%H:%M:%S.%e%z %l [%n] %v");
  return escaping(log);
}

ExitCode export_metrics(const Invocation& invocation, const std::string& listen) {
  const http::ListenAddress address = http::listen_address_from_text("--listen", listen);
  const auto log = make_exporter_log();
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
  log->info("metrics on http://{}/metrics, with /livez and /readyz", to_text(server.address()));
  while (!was_interrupted()) pause(std::chrono::seconds{1});
  fleet.stop();  // or the server would wait for scrapes that wait for the database
  log->info("stopped");
  return ExitCode::ok;
}

}  // namespace

void add_exporter(CLI::App& app, Invocation& invocation) {
  const auto listen = std::make_shared<std::string>("127.0.0.1:9465");
  add_command(
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
      [&invocation, listen] { return export_metrics(invocation, *listen); })
      ->add_option("--listen", *listen, "The address and port to listen on; port 0: any free one, which the log tells")
      ->type_name("ADDRESS:PORT")
      ->capture_default_str();
}

}  // namespace dogged::cli
