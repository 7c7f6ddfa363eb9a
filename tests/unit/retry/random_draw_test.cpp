// The default random draw, and the delays that it makes.
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <random>
#include <thread>
#include <vector>

#include <sys/wait.h>
#include <unistd.h>

#include <dogged/policy.hpp>
#include <dogged/retry_options.hpp>

#include "support/catch.hpp"

using namespace std::chrono_literals;
using namespace dogged;

namespace {

using Draws = std::array<double, 4>;

Draws some_draws() {
  Draws draws{};
  for (double& draw : draws) draw = random_draw();
  return draws;
}

/// The draws of a child of this process.
Draws draws_of_a_fork() {
  std::array<int, 2> ends{};
  REQUIRE(pipe(ends.data()) == 0);
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    const Draws draws = some_draws();
    _exit(write(ends[1], draws.data(), sizeof draws) == sizeof draws ? 0 : 1);
  }
  Draws draws{};
  CHECK(read(ends[0], draws.data(), sizeof draws) == sizeof draws);
  int status = 1;
  CHECK(waitpid(child, &status, 0) == child);
  CHECK(status == 0);
  close(ends[0]);
  close(ends[1]);
  return draws;
}

/// The first draws of a new process.
Draws draws_of_a_new_process() {
  std::FILE* output = popen("'" DOGGED_PRINT_DRAWS "'", "r");
  REQUIRE(output != nullptr);
  Draws draws{};
  for (double& draw : draws) CHECK(std::fscanf(output, "%lf", &draw) == 1);
  CHECK(pclose(output) == 0);
  return draws;
}

/// Pearson's statistic of the delays that `draw` makes of 100 equally likely ones, in 100,000 draws.
template <class Draw>
double chi_squared(Draw draw) {
  constexpr int draws = 100'000;
  constexpr std::size_t delays = 100;
  const RetryPolicy policy = fixed(milliseconds{delays}).with_jitter(Jitter::full());
  std::array<int, delays> counts{};
  for (int i = 0; i < draws; ++i)
    ++counts.at(static_cast<std::size_t>(next_delay(policy, 1, draw())->delay.count() - 1));
  double sum = 0;
  const double expected = double{draws} / delays;
  for (int count : counts) sum += std::pow(count - expected, 2) / expected;
  return sum;
}

/// https://www.itl.nist.gov/div898/handbook/eda/section3/eda3674.htm: 99 degrees of freedom, 0.001.
constexpr double critical_value = 148.230;
/// The same at 1e-9, found by integrating the density: for draws that are others each time.
constexpr double critical_value_of_fresh_draws = 207.898;

}  // namespace

TEST_CASE("jitter makes each delay of its range equally often") {
  std::mt19937_64 generator{42};
  CHECK(chi_squared([&] { return static_cast<double>(generator() >> 11) * 0x1p-53; }) < critical_value);
}

TEST_CASE("the default draw makes each delay equally often") {
  CHECK(chi_squared(random_draw) < critical_value_of_fresh_draws);
}

TEST_CASE("the test of evenness notices a draw that is slightly uneven") {
  std::mt19937_64 generator{42};
  CHECK(chi_squared([&] { return std::pow(static_cast<double>(generator() >> 11) * 0x1p-53, 1.1); }) >
        critical_value_of_fresh_draws);
}

TEST_CASE("the default draw is at least 0 and below 1, and fills what is between") {
  std::array<int, 4> quarters{};
  for (int i = 0; i < 1000; ++i) {
    const double draw = random_draw();
    REQUIRE((draw >= 0.0 && draw < 1.0));
    ++quarters.at(static_cast<std::size_t>(draw * 4));
  }
  for (int count : quarters) CHECK(count > 100);  // 11 standard deviations below 250
}

TEST_CASE("the child of a fork draws other numbers than its parent") {
  static_cast<void>(random_draw());  // the generator that the child inherits
  const Draws first = draws_of_a_fork();
  const Draws second = draws_of_a_fork();
  CHECK(first != second);
  CHECK(first != some_draws());
}

TEST_CASE("processes that are started one like the other draw different numbers") {
  const Draws first = draws_of_a_new_process();
  CHECK(first != Draws{});
  CHECK(first != draws_of_a_new_process());
}

TEST_CASE("threads draw different numbers") {
  Draws other{};
  std::thread{[&] { other = some_draws(); }}.join();
  CHECK(other != some_draws());
}
