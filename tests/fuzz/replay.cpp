// Gives a fuzz target the files of its corpus where libFuzzer is missing, so that old findings stay found.
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <iostream>
#include <iterator>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

int main(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    std::cerr << "replaying " << argv[i] << std::endl;  // before it may crash
    std::ifstream file{argv[i], std::ios::binary};
    if (!file) {
      std::cerr << "it cannot be read\n";
      return 1;
    }
    const std::vector<char> bytes{std::istreambuf_iterator<char>{file}, std::istreambuf_iterator<char>{}};
    LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
  }
  std::cerr << argc - 1 << " inputs replayed\n";
  return 0;
}
