// Gives libFuzzer the one target of its program: https://llvm.org/docs/LibFuzzer.html
#include <cstddef>
#include <cstdint>

#include "fuzz.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const fuzz::Check check = fuzz::targets().begin()->second;
  check({reinterpret_cast<const char*>(data), size});
  return 0;
}
