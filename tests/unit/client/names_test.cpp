// The rules for names and error codes.
#include <string>

#include <dogged/detail/names.hpp>

#include "support/catch.hpp"

using dogged::detail::is_valid_error_code;
using dogged::detail::is_valid_name;

TEST_CASE("a name is 1 to 128 letters, digits and . _ : / -, and begins with a letter or a digit") {
  for (const char* name : {"a", "Z", "9", "webhook.deliver", "a_b:c/d-e.f", "0-0"}) {
    CAPTURE(name);
    CHECK(is_valid_name(name));
  }
  CHECK(is_valid_name(std::string(128, 'n')));
  CHECK_FALSE(is_valid_name(std::string(129, 'n')));
  for (const char* name :
       {"", " ", "a b", "a ", ".a", "_a", ":a", "/a", "-a", "a\n", "a*", "a,b", "a%", "\xc3\xa9t\xc3\xa9"}) {
    CAPTURE(name);
    CHECK_FALSE(is_valid_name(name));
  }
  CHECK_FALSE(is_valid_name(std::string("a\0b", 3)));
}

TEST_CASE("an error code is UPPER_SNAKE of 1 to 64 bytes and begins with a letter") {
  for (const char* code : {"A", "HTTP_429", "CONNECT_TIMEOUT", "A_", "Z9"}) {
    CAPTURE(code);
    CHECK(is_valid_error_code(code));
  }
  CHECK(is_valid_error_code(std::string(64, 'E')));
  CHECK_FALSE(is_valid_error_code(std::string(65, 'E')));
  for (const char* code : {"", "*", "http_429", "HTTP-429", "_A", "9A", "A B", "A\n", "\xc3\x89"}) {
    CAPTURE(code);
    CHECK_FALSE(is_valid_error_code(code));
  }
  CHECK_FALSE(is_valid_error_code(std::string("A\0", 2)));
}

TEST_CASE("the built-in codes are error codes, and the one for all is not") {
  namespace codes = dogged::codes;
  for (auto code : {codes::unhandled_exception, codes::timeout, codes::worker_lost, codes::invalid_args,
                    codes::invalid_result, codes::cancelled, codes::expired}) {
    CAPTURE(std::string{code});
    CHECK(is_valid_error_code(code));
  }
  CHECK_FALSE(is_valid_error_code(codes::any));
}
