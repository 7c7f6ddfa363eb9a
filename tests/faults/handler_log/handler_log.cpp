// See handler_log.hpp.
#include "handler_log.hpp"

#include <cerrno>
#include <ctime>
#include <fstream>
#include <map>
#include <sstream>
#include <system_error>
#include <tuple>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

#include <dogged/error.hpp>

namespace dogged::faults {
namespace {

std::int64_t monotonic_ns() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

std::string line_of(const char* event, const Context& context) {
  return std::string{event} + " " + std::to_string(context.task_id()) + " " + std::to_string(context.attempt()) + " " +
         std::to_string(::getpid()) + " " + std::to_string(monotonic_ns());
}

}  // namespace

HandlerLog::HandlerLog(const std::filesystem::path& file)
    : fd_(::open(file.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0644)) {
  if (fd_ < 0) throw std::system_error(errno, std::generic_category(), file);
}

HandlerLog::~HandlerLog() { ::close(fd_); }

void HandlerLog::start(const Context& context) const { write(line_of("start", context) + "\n"); }

void HandlerLog::end(const Context& context, std::string_view how) const {
  write(line_of("end", context) + " " + std::string{how} + "\n");
}

void HandlerLog::step(const Context& context, std::string_view name, int gave) const {
  write(line_of("step", context) + " " + std::string{name} + " " + std::to_string(gave) + "\n");
}

void HandlerLog::write(const std::string& line) const {
  if (::write(fd_, line.data(), line.size()) != static_cast<ssize_t>(line.size())) {
    throw std::system_error(errno, std::generic_category(), "the handlers' log");
  }
}

std::vector<Execution> read_handler_log(const std::filesystem::path& file) {
  std::vector<Execution> executions;
  std::map<std::tuple<TaskId, int, pid_t>, std::size_t> open;
  std::ifstream stream{file};
  for (std::string line; std::getline(stream, line);) {
    std::istringstream words{line};
    std::string event;
    Execution execution;
    std::int64_t time_ns = 0;
    if (!(words >> event >> execution.task >> execution.attempt >> execution.pid >> time_ns)) {
      throw InvalidInput(file.string() + " has a line that is none of the handlers': " + line);
    }
    const std::tuple of{execution.task, execution.attempt, execution.pid};
    if (event == "start") {
      execution.started_ns = time_ns;
      open[of] = executions.size();
      executions.push_back(execution);
    } else if (const auto started = open.find(of); event == "end" && started != open.end()) {
      executions[started->second].ended_ns = time_ns;
      words >> executions[started->second].how;
      open.erase(started);
    } else if (PassedStep step; event == "step" && started != open.end() && words >> step.name >> step.gave) {
      executions[started->second].steps.push_back(std::move(step));
    } else {
      throw InvalidInput(file.string() + " has a line that fits no start: " + line);
    }
  }
  return executions;
}

}  // namespace dogged::faults
