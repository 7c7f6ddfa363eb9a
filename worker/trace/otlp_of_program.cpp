// otlp_tracer: the exporter of a program without a worker.
#include <utility>

#include <spdlog/spdlog.h>

#include <dogged/otlp.hpp>

#include "base/tally.hpp"
#include "client/escaping_log.hpp"
#include "client/log_event.hpp"
#include "trace/otlp_exporter.hpp"
#include "trace/otlp_settings.hpp"

namespace dogged {

std::shared_ptr<Tracer> otlp_tracer(const Environment& environment, std::shared_ptr<spdlog::logger> log) {
  const auto told = escaping(log ? std::move(log) : spdlog::default_logger());
  runtime::OtlpSettingsRead read = runtime::read_otlp_settings(environment);
  for (const std::string& warning : read.warnings) {
    told->log(event("traces_misconfigured"), spdlog::level::warn, "traces: {}", warning);
  }
  if (!read.settings) return nullptr;
  const auto exporter = std::make_shared<runtime::OtlpExporter>(*std::move(read.settings), std::string{},
                                                                std::make_shared<runtime::Tally>(), told);
  return {exporter, exporter->tracer().get()};
}

}  // namespace dogged
