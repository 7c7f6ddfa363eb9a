// fuzz_replays TARGET FILE…: gives a target the files of its corpus where libFuzzer is missing, so that old findings
// stay found.
#include <fstream>
#include <iostream>
#include <iterator>
#include <string>

#include "fuzz.hpp"

int main(int argc, char** argv) {
  if (argc < 3) {
    std::cerr << "usage: fuzz_replays TARGET FILE...\n";
    return 2;
  }
  const auto target = fuzz::targets().find(argv[1]);
  if (target == fuzz::targets().end()) {
    std::cerr << "fuzz_replays: there is no target \"" << argv[1] << "\"; the targets are";
    for (const auto& [name, check] : fuzz::targets()) std::cerr << ' ' << name;
    std::cerr << '\n';
    return 2;
  }
  for (int i = 2; i < argc; ++i) {
    std::cerr << "replaying " << argv[i] << std::endl;  // before it may crash
    std::ifstream file{argv[i], std::ios::binary};
    if (!file) {
      std::cerr << "it cannot be read\n";
      return 1;
    }
    target->second(std::string{std::istreambuf_iterator<char>{file}, std::istreambuf_iterator<char>{}});
  }
  std::cerr << argc - 2 << " inputs replayed\n";
  return 0;
}
