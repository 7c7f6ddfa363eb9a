// See escaping_log.hpp.
#include "client/escaping_log.hpp"

#include <string>
#include <utility>
#include <vector>

#include <spdlog/formatter.h>
#include <spdlog/sinks/sink.h>

#include "text/escaped.hpp"

namespace dogged {
namespace {

/// Thread-safe as its sinks are.
class EscapingSink final : public spdlog::sinks::sink {
 public:
  explicit EscapingSink(std::vector<spdlog::sink_ptr> sinks) : sinks_(std::move(sinks)) {}

  void log(const spdlog::details::log_msg& message) override {
    const std::string text = escaped({message.payload.data(), message.payload.size()});
    spdlog::details::log_msg line{message};
    line.payload = text;
    for (const spdlog::sink_ptr& inner : sinks_) {
      if (inner->should_log(line.level)) inner->log(line);
    }
  }
  void flush() override {
    for (const spdlog::sink_ptr& inner : sinks_) inner->flush();
  }
  void set_pattern(const std::string& pattern) override {
    for (const spdlog::sink_ptr& inner : sinks_) inner->set_pattern(pattern);
  }
  void set_formatter(std::unique_ptr<spdlog::formatter> formatter) override {
    for (const spdlog::sink_ptr& inner : sinks_) inner->set_formatter(formatter->clone());
  }

 private:
  const std::vector<spdlog::sink_ptr> sinks_;
};

}  // namespace

std::shared_ptr<spdlog::logger> escaping(const std::shared_ptr<spdlog::logger>& log) {
  auto result = std::make_shared<spdlog::logger>(log->name(), std::make_shared<EscapingSink>(log->sinks()));
  result->set_level(log->level());
  result->flush_on(log->flush_level());
  return result;
}

}  // namespace dogged
