// Captures the stderr of a test's subject.
#pragma once

#include <iostream>
#include <sstream>
#include <string>

namespace dogged::test {

/// The text written to std::cerr while the object lives.
class CapturedErrors {
 public:
  CapturedErrors() : before_{std::cerr.rdbuf(text_.rdbuf())} {}
  ~CapturedErrors() { std::cerr.rdbuf(before_); }
  CapturedErrors(const CapturedErrors&) = delete;
  CapturedErrors& operator=(const CapturedErrors&) = delete;

  [[nodiscard]] std::string text() const { return text_.str(); }

 private:
  std::ostringstream text_;
  std::streambuf* before_;
};

}  // namespace dogged::test
