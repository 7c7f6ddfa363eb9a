// dogged_faults: runs workers under faults and checks that every promise was kept. `--help` teaches it.
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <random>

#include <CLI/CLI.hpp>

#include "run.hpp"
#include "text/duration.hpp"

namespace {

using namespace dogged;
using namespace dogged::faults;
namespace fs = std::filesystem;

volatile std::sig_atomic_t interrupted = 0;
extern "C" void interrupt(int) { interrupted = 1; }

struct CommandLine {
  std::optional<std::uint64_t> seed;
  std::string duration = "30s";
  double hours = 0;
  std::vector<std::string> only;
  std::string late_limit = "10s";
  bool keep = false;
  RunSettings run;
};

constexpr const char* footer =
    "A run makes a PostgreSQL of its own, starts workers, enqueues tasks, and meanwhile kills, pauses, stops and "
    "restarts "
    "workers and server, and disturbs the network between them. Then it checks that no promise was broken.\n"
    "\n"
    "Examples:\n"
    "  dogged_faults --seed 42 --duration 20s     repeats the schedule of seed 42\n"
    "  dogged_faults --hours 8                    runs of 30 s, each with a seed of its own, until one fails\n"
    "  dogged_faults --only pause_worker,cut --verbose\n"
    "\n"
    "Exit codes: 0 all promises were kept, 1 one was broken, 2 a mistake on the command line, 130 interrupted.";

void add_options(CLI::App& app, CommandLine& options) {
  app.add_option("--seed", options.seed, "repeats the schedule of an earlier run; random unless given");
  app.add_option("--duration", options.duration, "of the faults, for example 30s; the end of all tasks is waited for")
      ->capture_default_str();
  app.add_option("--hours", options.hours, "soak: one run after the other until so much time is over")
      ->check(CLI::Range(0.0, 10000.0));
  app.add_option("--workers", options.run.schedule.workers, "processes at a time")
      ->check(CLI::Range(1, 32))
      ->capture_default_str();
  app.add_option("--tasks-per-second", options.run.tasks_per_second, "enqueued while the faults last")
      ->check(CLI::Range(1, 10'000))
      ->capture_default_str();
  app.add_option("--only", options.only, "faults, separated by commas; all unless given")->delimiter(',');
  app.add_option(
         "--late-limit", options.late_limit,
         "how long after the lapse of its worker's lease a lost task may run again, not counting the time in which "
         "the server was away; 1s is what is promised on a machine that has nothing else to do")
      ->capture_default_str();
  app.add_flag("--keep", options.keep, "keeps the directory with the logs and the data of a run that went well");
  app.add_flag("--verbose", options.run.verbose, "prints the events as they happen");
}

/// For a single run. TMPDIR must be short, as the path of a Unix socket is.
fs::path make_directory() {
  std::string name = fs::temp_directory_path() / "dogged-faults-XXXXXX";
  if (::mkdtemp(name.data()) == nullptr) throw Error("cannot make a directory like " + name);
  fs::permissions(name, fs::perms{0755});  // PostgreSQL may have to run as another user
  return name;
}

std::string replay_command(const CommandLine& options, const ScheduleSettings& schedule) {
  std::string command = "dogged_faults --seed " + std::to_string(schedule.seed) + " --duration " + options.duration +
                        " --workers " + std::to_string(schedule.workers) + " --tasks-per-second " +
                        std::to_string(options.run.tasks_per_second) + " --late-limit " + options.late_limit;
  std::string only;
  for (const std::string& fault : options.only) only += (only.empty() ? " --only " : ",") + fault;
  return command + only;
}

void print_failure(const CommandLine& options, const RunSettings& run, const RunResult& result) {
  constexpr std::size_t most = 50;
  std::cout << "\nevents:\n" << std::ifstream{run.directory / "events.log"}.rdbuf() << "\nbroken promises:\n";
  for (std::size_t i = 0; i < std::min(most, result.broken.size()); ++i) std::cout << "  " << result.broken[i] << "\n";
  if (result.broken.size() > most) std::cout << "  … " << result.broken.size() << " in all\n";
  std::cout << "\nseed " << run.schedule.seed << "; logs and data: " << run.directory.string()
            << "\nreplay: " << replay_command(options, run.schedule) << std::endl;
}

/// Whether every promise was kept.
bool run_once(const CommandLine& options, std::uint64_t seed) {
  RunSettings settings = options.run;
  settings.schedule.seed = seed;
  settings.directory = make_directory();
  std::cout << "seed " << seed << std::endl;
  RunResult result;
  try {
    Run run{settings};
    result = run.go(interrupted);
  } catch (const std::exception& error) {
    if (interrupted == 0) result.broken.push_back(error.what());
  }
  if (!result.broken.empty()) {
    print_failure(options, settings, result);
    return false;
  }
  if (interrupted == 0) std::cout << result.summary << std::endl;
  if (!options.keep) fs::remove_all(settings.directory);
  return true;
}

void read_options(CommandLine& options) {
  options.run.schedule.duration = duration_from_text(options.duration);
  options.run.schedule.lease = lease;
  options.run.late_limit = duration_from_text(options.late_limit);
  if (options.only.empty()) return;
  options.run.schedule.faults.clear();
  for (const std::string& name : options.only) options.run.schedule.faults.push_back(fault_from_text(name));
}

int run_all(const CommandLine& options) {
  const auto until = std::chrono::steady_clock::now() + std::chrono::duration<double, std::ratio<3600>>{options.hours};
  std::uint64_t seed = options.seed ? *options.seed : std::random_device{}();
  do {
    if (!run_once(options, seed++)) return 1;
  } while (interrupted == 0 && std::chrono::steady_clock::now() < until);
  return interrupted == 0 ? 0 : 128 + SIGINT;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"Runs dogged workers under faults and checks that no task is lost."};
  CommandLine options;
  add_options(app, options);
  app.footer(footer);
  CLI11_PARSE(app, argc, argv);
  std::signal(SIGINT, interrupt);
  std::signal(SIGTERM, interrupt);
  std::signal(SIGPIPE, SIG_IGN);
  try {
    read_options(options);
    return run_all(options);
  } catch (const InvalidInput& error) {
    std::cerr << argv[0] << ": " << error.what() << "\n";
    return 2;
  }
}
