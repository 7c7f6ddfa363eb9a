// Shared by the fuzz targets. A target is one file with a FUZZ_TARGET of the file's name. The target gives an input to
// a parser, and requires of the answer what the parser's header promises.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include <dogged/error.hpp>

namespace fuzz {

/// An exception that leaves it is a failure, as is a promise that does not hold.
using Check = void (*)(std::string_view input);

/// Each FUZZ_TARGET of the program, by its name: one in a program of libFuzzer, all in the program that replays.
[[nodiscard]] std::map<std::string, Check>& targets();

struct Registration {
  Registration(const char* name, Check check) { targets().emplace(name, check); }
};

/// Ends the program unless `holds`, so that the fuzzer keeps the input. Prints the promise and the text that breaks it.
void require(bool holds, std::string_view promise, std::string_view seen = {});

/// By RFC 3629, and by other code than the tested code.
[[nodiscard]] bool is_utf8(std::string_view text);
/// Valid UTF-8 without control characters (C0, DEL and C1), which a terminal could obey.
[[nodiscard]] bool is_printable_line(std::string_view text);

/// An error that quotes its input must stay readable: one printable line of at most 1000 bytes, and the same for its
/// hint.
void require_sound_message(const dogged::Error& error);

/// Takes an input apart whose lines are one value each, so that seeds can be written by hand. After the last line
/// everything is empty and 0.
class Lines {
 public:
  explicit Lines(std::string_view input) : rest_(input) {}

  [[nodiscard]] bool at_end() const { return rest_.empty(); }
  [[nodiscard]] std::string_view rest() const { return rest_; }
  std::string text();
  /// Where the line is no number, or none in the range, the nearest to it or to 0.
  std::int64_t number(std::int64_t least, std::int64_t most);
  bool flag() { return number(0, 1) == 1; }

 private:
  std::string_view rest_;
};

}  // namespace fuzz

/// Begins the definition of a target. The body is in the namespace fuzz.
#define FUZZ_TARGET(name, input)                                  \
  namespace fuzz {                                                \
  static void check_##name(std::string_view input);               \
  static const Registration register_##name{#name, check_##name}; \
  }                                                               \
  void fuzz::check_##name(std::string_view input)
