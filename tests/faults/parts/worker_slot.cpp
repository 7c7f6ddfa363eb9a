// See worker_slot.hpp.
#include "worker_slot.hpp"

#include <fstream>
#include <iterator>
#include <stdexcept>
#include <utility>

#include "tasks.hpp"
#include "text/duration.hpp"

namespace dogged::faults {

WorkerSlot::WorkerSlot(const Server& server, WorkerSettings settings)
    : settings_(std::move(settings)), proxy_(server.socket()) {}

void WorkerSlot::start() {
  if (process_ && !process_->has_ended()) throw std::logic_error("a slot has one process at a time");
  // A name of its own for each process: the one before may have been killed, and holds its name until its lease ends.
  const std::string name = application_name() + "/" + std::to_string(++started_);
  CommandOptions options = settings_.options;
  options.insert({{"--database-url", proxy_.url() + "&application_name=" + application_name()},
                  {"--schema", settings_.schema},
                  {"--name", name},
                  {"--queues", std::string{queue_name} + ":4"},
                  {"--lease", duration_to_text(lease)},
                  {"--heartbeat", duration_to_text(heartbeat)},
                  {"--grace", "2s"},
                  {"--stop-grace", "500ms"},
                  {"--max-abandoned-threads", "3"},
                  {"--poll-interval", "1s"}});
  Process::Start start{.argv = {DOGGED_FAULT_WORKER},
                       .environment = {std::string{log_variable} + "=" + handler_log_of(settings_.directory).string()},
                       .output = log()};
  for (const auto& [option, value] : options) start.argv.insert(start.argv.end(), {option, value});
  log_begins_at_ = std::filesystem::exists(log()) ? std::filesystem::file_size(log()) : 0;
  process_.reset();
  process_ = std::make_unique<Process>(start);
}

std::optional<int> WorkerSlot::stop() {
  process_->signal(SIGTERM);
  return process_->wait(30s);
}

std::string WorkerSlot::application_name() const { return "worker-" + std::to_string(settings_.number); }

std::filesystem::path WorkerSlot::log() const { return settings_.directory / (application_name() + ".log"); }

std::string WorkerSlot::log_of_process() const {
  std::ifstream stream{log()};
  stream.seekg(static_cast<std::streamoff>(log_begins_at_));
  return {std::istreambuf_iterator<char>{stream}, {}};
}

bool WorkerSlot::was_ready() const { return log_of_process().find(" ready: ") != std::string::npos; }

std::filesystem::path handler_log_of(const std::filesystem::path& directory) { return directory / "handlers.log"; }

}  // namespace dogged::faults
