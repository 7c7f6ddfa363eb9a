// dogged_sim: the runtime's cores against a model of the database, in virtual time.
#include <cstdint>
#include <iostream>
#include <string>

#include <CLI/CLI.hpp>

#include "run.hpp"

namespace {

using dogged::sim::Mutant;
using dogged::sim::RunResult;
using dogged::sim::RunSettings;

void print(const RunSettings& settings, const RunResult& result) {
  for (const std::string& line : result.trace) std::cout << "  " << line << '\n';
  std::cout << "seed " << settings.seed << ": broken: " << *result.broken << '\n';
}

/// 0 if every run has kept its promises.
int run_seeds(std::uint64_t first, std::uint64_t count, bool steps) {
  std::size_t tasks = 0;
  std::size_t attempts = 0;
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    const RunResult result = dogged::sim::run({.seed = seed});
    tasks += result.tasks;
    attempts += result.attempts;
    if (!result.broken) continue;
    const RunSettings failing{.seed = seed, .traces = true, .traces_steps = steps};
    print(failing, shrink(failing));
    std::cout << "again: dogged_sim --first " << seed << " --seeds 1\n";
    return 1;
  }
  std::cout << count << " seeds: " << tasks << " tasks and " << attempts << " attempts kept every promise\n";
  return 0;
}

/// 0 if each mutant was caught.
int run_mutants(std::uint64_t first, std::uint64_t count) {
  int survivors = 0;
  for (const Mutant mutant : dogged::sim::all_mutants) {
    std::uint64_t tried = 0;
    RunResult result;
    while (tried < count && !result.broken) result = dogged::sim::run({.seed = first + tried++, .mutant = mutant});
    if (!result.broken) ++survivors;
    std::cout << to_text(mutant) << ": "
              << (result.broken ? "caught after " + std::to_string(tried) + " seeds: " + *result.broken : "SURVIVES")
              << '\n';
  }
  return survivors == 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{
      "The runtime's cores against a model of the database, in virtual time: crashes, freezes, lost requests and\n"
      "answers, statements that arrive late, locked rows and lost notifications, by a seed.\n"
      "A failing seed prints its schedule, with as few disturbances as show the failure."};
  std::uint64_t first = 1;
  std::uint64_t seeds = 1000;
  bool mutants = false;
  bool steps = false;
  app.add_option("--first", first, "The first seed")->capture_default_str();
  app.add_option("--seeds", seeds, "How many; with --mutants, how many at most for each")->capture_default_str();
  app.add_flag("--mutants", mutants,
               "Breaks one rule of the protocol after another, and tells which the simulation sees");
  app.add_flag("--steps", steps, "Of a failing seed, prints what each claimer does as well");
  CLI11_PARSE(app, argc, argv);
  return mutants ? run_mutants(first, seeds) : run_seeds(first, seeds, steps);
}
