// dogged_sim: the runtime's cores against a model of the database, in virtual time.
#include <algorithm>
#include <cstdint>
#include <iostream>
#include <numeric>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "run.hpp"

namespace {

using dogged::sim::Mutant;
using dogged::sim::RunResult;
using dogged::sim::RunSettings;

// How many runs the shrinking of a failure may take: some seconds.
constexpr int most_runs = 2000;
constexpr int most_runs_for_mutant = 40;

void print(const RunSettings& settings, const RunResult& result) {
  for (const std::string& line : result.trace) std::cout << "  " << line << '\n';
  std::cout << "seed " << settings.seed << ": broken: " << *result.broken << '\n';
  std::cout << "shrunk to " << result.incidents.size() << " faults and operations\n";
}

/// Prints the shrunk schedule of a seed that breaks a promise.
void explain(const RunSettings& failing) {
  print(failing, dogged::sim::shrink(failing, most_runs));
  std::cout << "again: dogged_sim --first " << failing.seed << " --seeds 1";
  if (failing.mutant != Mutant::none) std::cout << " --mutant " << to_text(failing.mutant);
  std::cout << '\n';
}

/// 0 if every run has kept its promises.
int run_seeds(std::uint64_t first, std::uint64_t count, Mutant mutant, bool steps) {
  std::size_t tasks = 0;
  std::size_t attempts = 0;
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    const RunResult result = dogged::sim::run({.seed = seed, .mutant = mutant});
    tasks += result.tasks;
    attempts += result.attempts;
    if (!result.broken) continue;
    explain({.seed = seed, .mutant = mutant, .traces = true, .traces_steps = steps});
    return 1;
  }
  std::cout << count << " seeds: " << tasks << " tasks and " << attempts << " attempts kept every promise\n";
  return 0;
}

/// 0 if each mutant was caught. A seed that has caught a mutant is the first to be tried on the next: such a seed has
/// many faults.
int run_mutants(std::uint64_t first, std::uint64_t count) {
  std::vector<std::uint64_t> seeds(count);
  std::iota(seeds.begin(), seeds.end(), first);
  int survivors = 0;
  for (const auto& [mutant, name, guarantee, conformance_seed] : dogged::sim::all_mutants) {
    const auto telling = std::find_if(seeds.begin(), seeds.end(), [mutant = mutant](std::uint64_t seed) {
      return dogged::sim::run({.seed = seed, .mutant = mutant}).broken.has_value();
    });
    std::cout << guarantee << ' ' << name << ": ";
    if (telling == seeds.end()) {
      ++survivors;
      std::cout << "SURVIVES" << std::endl;
      continue;
    }
    const std::uint64_t seed = *telling;
    std::rotate(seeds.begin(), telling, telling + 1);
    const RunResult least = dogged::sim::shrink({.seed = seed, .mutant = mutant}, most_runs_for_mutant);
    std::cout << "caught by seed " << seed << ", shrunk to " << least.incidents.size()
              << " faults and operations: " << *least.broken << std::endl;
  }
  std::cout << dogged::sim::all_mutants.size() << " mutants, " << survivors << " survive\n";
  return survivors == 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{
      "The runtime's cores against a model of the database, in virtual time: crashes, freezes, lost requests and\n"
      "answers, statements that arrive late, locked rows and lost notifications, by a seed.\n"
      "A failing seed prints its schedule, with as few faults and operations as show the failure."};
  std::uint64_t first = 1;
  std::uint64_t seeds = 1000;
  bool mutants = false;
  bool steps = false;
  Mutant mutant = Mutant::none;
  app.add_option("--first", first, "The first seed")->capture_default_str();
  app.add_option("--seeds", seeds, "How many; with --mutants, how many at most for each")->capture_default_str();
  app.add_flag("--mutants", mutants,
               "Breaks one rule of the protocol after another, and tells which the simulation sees");
  app.add_flag("--steps", steps, "Of a failing seed, prints what each claimer does as well");
  app.add_option("--mutant", mutant, "Runs the seeds with this mutant, as --mutants names it")
      ->transform(CLI::CheckedTransformer(dogged::sim::mutants_by_name()));
  CLI11_PARSE(app, argc, argv);
  return mutants ? run_mutants(first, seeds) : run_seeds(first, seeds, mutant, steps);
}
