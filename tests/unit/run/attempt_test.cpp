// The details of the error, in the report of an attempt that failed by an exception.
#include "run/attempt.hpp"

#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

#include <nlohmann/json.hpp>
#include <spdlog/logger.h>

#include <dogged/exception_mapper.hpp>
#include <dogged/worker.hpp>

#include "support/catch.hpp"
#include "tasks/definition.hpp"

using namespace dogged;

namespace {

constexpr Task<nlohmann::json> failing{"work"};

/// The details after the mapper has thrown an exception with the text `mapper_error`.
nlohmann::json details_with(const std::string& mapper_error) {
  static std::string text;
  text = mapper_error;
  const auto mapper = []() -> const ExceptionMapper& {
    static const ExceptionMapper throws = ExceptionMapper{}.map<std::out_of_range>(
        [](const std::out_of_range&) -> Classification { throw std::runtime_error{text}; });
    return throws;
  };
  const auto handler = [](Context&, const nlohmann::json&) { throw std::out_of_range{"no such row"}; };
  const runtime::Definitions definitions =
      runtime::make_definitions(Tasks{}.add(handler, failing, {.exceptions = mapper}).all());
  runtime::ClaimedTask task;
  task.id = 7;
  task.attempt = 1;
  task.definition = &definitions.at("work");
  task.queue = "default";
  task.args_json = "{}";
  spdlog::logger log{"test"};
  const runtime::StopSignal stop;
  const runtime::Report report =
      runtime::run_attempt({std::move(task), runtime::SteadyClock::now()}, stop, {}, runtime::AttemptTrace{}, log, 0.5);
  CHECK(report.error_message == "no such row");
  CHECK(detail::bytes_as_jsonb(report.error_details_json) <= detail::max_details_bytes);
  return nlohmann::json::parse(report.error_details_json);
}

}  // namespace

TEST_CASE("a mapper's own error is cut to fit the details of an error, and the type of the exception stays") {
  for (const char one : {'x', '\x01'}) {  // JSON writes the second as six bytes
    const nlohmann::json details = details_with(std::string(100'000, one));
    CHECK(details.at("exception") == "std::out_of_range");
    const auto kept = details.at("mapper_error").get<std::string>();
    CHECK(kept.starts_with(std::string(1000, one)));
    CHECK(kept.size() < 10'000);
  }
}

TEST_CASE("a mapper's own error that is no UTF-8 loses only the bytes that are not") {
  CHECK(details_with("no \xFF map").at("mapper_error") == "no \xEF\xBF\xBD map");
}
