// dogged_conformance: whether the simulation's model of the database answers as PostgreSQL does.
#include <algorithm>
#include <cstdint>
#include <exception>
#include <iostream>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include <dogged/testing.hpp>

#include "conformance.hpp"
#include "db/connection.hpp"
#include "private_server/cluster.hpp"

namespace {

using dogged::sim::ConformanceResult;
using dogged::sim::Mutant;

struct Options {
  std::uint64_t first = 1;
  std::uint64_t seeds = 30;
  int steps = 400;
  Mutant mutant = Mutant::none;
};

/// Two queries read all partitions after each statement. 8 seeds took the processors 19.6 s with those of nine days,
/// and 12.0 s with today's alone. Rows of another day are in the default partitions then. The server copies this
/// database for each seed.
void drop_other_days(dogged::testing::Server& server) {
  dogged::db::Connection connection{
      {.url = server.database().url() + "?dbname=" + dogged::private_server::role_and_database}};
  connection.run({"drop_other_days",
                  "do $$ begin execute (select 'drop table ' || string_agg('dogged.' || partition, ', ') "
                  "from dogged.partitions where day <> (now() at time zone 'UTC')::date); end $$"});
}

ConformanceResult compare(dogged::testing::Server& server, const Options& options, std::uint64_t seed, Mutant mutant) {
  const dogged::testing::Database database = server.database();
  return dogged::sim::compare_with_postgres(database.url(), seed, options.steps, mutant);
}

/// 0 if all answers were alike.
int run_seeds(dogged::testing::Server& server, const Options& options) {
  for (std::uint64_t seed = options.first; seed < options.first + options.seeds; ++seed) {
    const ConformanceResult result = compare(server, options, seed, options.mutant);
    if (!result.difference) continue;
    for (const std::string& line : result.trace) std::cout << "  " << line << '\n';
    std::cout << "seed " << seed << ": " << *result.difference << '\n';
    std::cout << "again: dogged_conformance --first " << seed << " --seeds 1 --steps " << options.steps << '\n';
    return 1;
  }
  std::cout << options.seeds << " seeds of " << options.steps
            << " statements: the model and PostgreSQL answered alike\n";
  return 0;
}

/// The seed that has caught this mutant before, and then all others.
std::vector<std::uint64_t> seeds_for(std::uint64_t known, const Options& options) {
  std::vector<std::uint64_t> seeds{known};
  for (std::uint64_t seed = options.first; seed < options.first + options.seeds; ++seed) {
    if (seed != known) seeds.push_back(seed);
  }
  return seeds;
}

/// 0 if each mutant of a statement was caught.
int run_mutants(dogged::testing::Server& server, const Options& options) {
  int survivors = 0;
  for (const auto& [mutant, name, guarantee, known_seed] : dogged::sim::all_mutants) {
    if (known_seed == 0) continue;
    const std::vector<std::uint64_t> seeds = seeds_for(known_seed, options);
    ConformanceResult result;
    const auto telling = std::find_if(seeds.begin(), seeds.end(), [&, mutant = mutant](std::uint64_t seed) {
      result = compare(server, options, seed, mutant);
      return result.difference.has_value();
    });
    if (telling == seeds.end()) {
      ++survivors;
      std::cout << name << ": SURVIVES" << std::endl;
      continue;
    }
    std::cout << name << ": caught by seed " << *telling << ": " << *result.difference << std::endl;
    if (telling != seeds.begin()) {
      std::cout << "  after " << telling - seeds.begin() << " other seeds: write this one into mutant.hpp" << std::endl;
    }
  }
  return survivors == 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{
      "Runs random statements of the protocol against the simulation's model and against a private PostgreSQL, which\n"
      "must answer alike and have the same rows after each. A seed that differs prints what ran."};
  Options options;
  bool mutants = false;
  app.add_option("--first", options.first, "The first seed")->capture_default_str();
  app.add_option("--seeds", options.seeds, "How many; with --mutants, how many at most for each")
      ->capture_default_str();
  app.add_option("--steps", options.steps, "Statements of each seed")->capture_default_str();
  app.add_option("--mutant", options.mutant, "Runs the seeds with this mutant of the model, as --mutants names it")
      ->transform(CLI::CheckedTransformer(dogged::sim::mutants_by_name()));
  app.add_flag("--mutants", mutants, "Breaks one statement of the model after another, and tells which differ");
  CLI11_PARSE(app, argc, argv);
  try {
    dogged::testing::Server server;
    drop_other_days(server);
    return mutants ? run_mutants(server, options) : run_seeds(server, options);
  } catch (const std::exception& error) {
    std::cerr << "dogged_conformance: " << error.what() << '\n';
    return 2;
  }
}
