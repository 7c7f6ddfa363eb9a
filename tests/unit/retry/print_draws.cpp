// Prints what a process draws first: a program of its own, so that random_draw_test.cpp can start it more than once.
#include <cstdio>

#include <dogged/retry_options.hpp>

int main() {
  for (int i = 0; i < 4; ++i) std::printf("%.17g\n", dogged::random_draw());
}
