// The logger of lines about one attempt.
#include "tasks/attempt_logger.hpp"

#include <memory>
#include <string>

#include <spdlog/sinks/ringbuffer_sink.h>
#include <spdlog/spdlog.h>

#include "support/catch.hpp"
#include "tasks/definition.hpp"

using namespace dogged;
using namespace dogged::runtime;

namespace {

const std::string traceparent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

/// A log whose lines are the logger's name, a bar and the message.
class NamedLog {
 public:
  NamedLog() { sink_->set_pattern("%n|%v"); }

  spdlog::logger& log() { return log_; }
  std::string last_line() {
    std::string line = sink_->last_formatted().back();
    while (!line.empty() && line.back() == '\n') line.pop_back();
    return line;
  }

 private:
  std::shared_ptr<spdlog::sinks::ringbuffer_sink_st> sink_ = std::make_shared<spdlog::sinks::ringbuffer_sink_st>(10);
  spdlog::logger log_{"dogged", sink_};
};

}  // namespace

TEST_CASE("a line about an attempt has the attempt's fields, and its trace") {
  NamedLog named;
  Report report;
  report.id = 7;
  report.attempt = 2;
  report.name = "mail.send";
  report.queue = "mail";
  report.trace = TraceContext::from_text(traceparent);
  attempt_logger(named.log(), report)->warn("it still runs");
  CHECK(named.last_line() ==
        "dogged task=7 name=mail.send queue=mail attempt=2 trace=4bf92f3577b34da6a3ce929d0e0e4736|it still runs");

  const Definitions definitions = make_definitions({{"mail.send", {}, {}}});
  ClaimedTask task;
  task.id = 8;
  task.attempt = 1;
  task.definition = &definitions.at("mail.send");
  task.queue = "mail";
  attempt_logger(named.log(), task, report.trace)->warn("it begins");
  CHECK(named.last_line() ==
        "dogged task=8 name=mail.send queue=mail attempt=1 trace=4bf92f3577b34da6a3ce929d0e0e4736|it begins");
}

TEST_CASE("a line about an attempt leaves out fields that its report does not have") {
  NamedLog named;
  Report first_success;  // without name and queue, which nothing needs
  first_success.id = 7;
  first_success.attempt = 1;
  attempt_logger(named.log(), first_success)->warn("is not held");
  CHECK(named.last_line() == "dogged task=7 attempt=1|is not held");
  attempt_logger(named.log(), Attempt{9, 3})->warn("is not held");
  CHECK(named.last_line() == "dogged task=9 attempt=3|is not held");
}
