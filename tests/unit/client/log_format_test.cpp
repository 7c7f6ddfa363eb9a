// The lines of a worker's log, for people and for programs.
#include "client/log_format.hpp"

#include <algorithm>
#include <functional>
#include <memory>
#include <sstream>
#include <string>

#include <nlohmann/json.hpp>
#include <spdlog/sinks/ostream_sink.h>
#include <spdlog/spdlog.h>

#include "client/escaping_log.hpp"
#include "support/catch.hpp"

using namespace dogged;

namespace {

constexpr const char* time_of_it = "2026-11-26T12:00:00.000+00:00";

LogLine line(std::string_view text, std::string_view event = "") {
  return {.time = time_of_it, .level = "info", .logger = "dogged", .event = event, .text = text};
}

/// The output of a logger with this format.
std::string written(LogFormat format, const std::function<void(spdlog::logger&)>& write) {
  std::ostringstream out;
  const auto log = std::make_shared<spdlog::logger>("dogged", std::make_shared<spdlog::sinks::ostream_sink_mt>(out));
  log->set_formatter(formatter_of(format));
  write(*escaping(log));
  return out.str();
}

}  // namespace

TEST_CASE("an event's fields are members of its object, numbers as numbers, and digits of a name as a string") {
  const auto object = nlohmann::ordered_json::parse(
      json_line(line(R"(event=retry task=7 name=42 error=HTTP_503 delay_ms=900 message="no \"answer\"")")));
  CHECK(object.dump() == R"({"time":"2026-11-26T12:00:00.000+00:00","level":"info","logger":"dogged","event":"retry",)"
                         R"("task":7,"name":"42","error":"HTTP_503","delay_ms":900,"message":"no \"answer\""})");
}

TEST_CASE("a line without fields has its text as the message, and its stable name as the event") {
  CHECK(nlohmann::json::parse(json_line(line("worker 1 ready", "worker_ready")))["event"] == "worker_ready");
  CHECK(nlohmann::json::parse(json_line(line("worker 1 ready", "worker_ready")))["message"] == "worker 1 ready");
  CHECK(nlohmann::json::parse(json_line(line("hello")))["event"] == "log");
  CHECK(logfmt_line(line("worker 1 ready", "worker_ready")) ==
        std::string{"time="} + time_of_it + R"( level=info logger=dogged event=worker_ready message="worker 1 ready")");
  CHECK(logfmt_line(line("event=retry task=7")) ==
        std::string{"time="} + time_of_it + " level=info logger=dogged event=retry task=7");
}

TEST_CASE("a worker's line about one attempt has the attempt's fields beside its event") {
  LogLine abandoned = line("its handler ignores its stop token", "thread_abandoned");
  abandoned.logger = "dogged task=7 attempt=2";
  CHECK(json_line(abandoned) == std::string{R"({"time":")"} + time_of_it +
                                    R"(","level":"info","logger":"dogged","event":"thread_abandoned","task":7,)" +
                                    R"("attempt":2,"message":"its handler ignores its stop token"})");
  CHECK(logfmt_line(abandoned) == std::string{"time="} + time_of_it +
                                      " level=info logger=dogged event=thread_abandoned task=7 attempt=2 " +
                                      R"(message="its handler ignores its stop token")");
}

TEST_CASE("a handler's line has its attempt's fields, and a logger that is the same for all attempts") {
  LogLine hello = line("hello");
  hello.logger = "dogged task=7 name=42 queue=default attempt=2 trace=00ff";
  CHECK(json_line(hello) ==
        std::string{R"({"time":")"} + time_of_it +
            R"(","level":"info","logger":"dogged","event":"log","task":7,"name":"42","queue":"default",)"
            R"("attempt":2,"trace":"00ff","message":"hello"})");
  CHECK(logfmt_line(hello) ==
        std::string{"time="} + time_of_it +
            " level=info logger=dogged event=log task=7 name=42 queue=default attempt=2 trace=00ff message=hello");
}

TEST_CASE("a handler's text that looks like an event is its message") {
  LogLine forged = line("event=gave_up task=8");
  forged.logger = "dogged task=7 name=work queue=default attempt=1";
  const auto object = nlohmann::json::parse(json_line(forged));
  CHECK(object["event"] == "log");
  CHECK(object["task"] == 7);
  CHECK(object["message"] == "event=gave_up task=8");
}

TEST_CASE("a logger's name without fields of an attempt stays whole") {
  for (const std::string_view name : {"", "my app", "dogged task=7 and more", "task=7"}) {
    LogLine hello = line("hello");
    hello.logger = name;
    CHECK(nlohmann::json::parse(json_line(hello))["logger"] == name);
  }
}

TEST_CASE("each message of a logger is one line, whatever it contains, in every format") {
  for (const LogFormat format : {LogFormat::json, LogFormat::logfmt}) {
    const std::string text =
        written(format, [](spdlog::logger& log) { log.info("a\nevent=forged \x1b[31m \xff {{}} \xc2\x85"); });
    CAPTURE(text);
    CHECK(std::count(text.begin(), text.end(), '\n') == 1);
    CHECK(text.find('\x1b') == std::string::npos);
    CHECK(text.find("event=forged") != 0);
  }
  const auto object = nlohmann::json::parse(written(LogFormat::json, [](spdlog::logger& log) { log.warn("careful"); }));
  CHECK(object["level"] == "warning");
  CHECK(object["event"] == "log");
  CHECK(object["time"].get<std::string>().size() == std::string{time_of_it}.size());
}
