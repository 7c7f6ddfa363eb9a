// Database URLs that are wrong, of support/wrong_urls.txt. Each has the password t0psecret-w0rd in it, and names no
// server that there is.
#pragma once

#include <fstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "support/contains.hpp"

namespace dogged::test {

inline std::vector<std::string> wrong_urls() {
  std::ifstream file{DOGGED_SOURCE_DIR "/tests/support/wrong_urls.txt"};
  std::vector<std::string> urls;
  for (std::string line; std::getline(file, line);) urls.push_back(line);
  if (urls.size() < 20) throw std::logic_error("there are no wrong URLs");
  return urls;
}

/// Any piece of the password, also where an error shows its ends or its beginning alone.
inline bool shows_password(std::string_view text) { return contains(text, "t0psecret") || contains(text, "w0rd"); }

}  // namespace dogged::test
