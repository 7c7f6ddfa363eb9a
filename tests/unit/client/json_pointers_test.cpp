// The pointers of TaskOptions::redact. (tests/postgres/schema/roles_test.cpp shows what they hide.)
#include <string>

#include <dogged/json_pointers.hpp>

#include "support/catch.hpp"

using dogged::JsonPointers;
using dogged::detail::is_valid_json_pointer;

TEST_CASE("JSON pointers are empty or begin with a slash, and a tilde in them is followed by 0 or 1") {
  for (const char* pointer : {"", "/", "//", "/a", "/a b", "/0/-", "/~0", "/~1", "/~01/x~1", "/\xc3\xa9", "/\"\\{}"}) {
    CAPTURE(pointer);
    CHECK(is_valid_json_pointer(pointer));
  }
  for (const char* pointer : {"a", "#/a", " /a", "/~", "/a~", "/~2", "/a\n", "~0"}) {
    CAPTURE(pointer);
    CHECK_FALSE(is_valid_json_pointer(pointer));
  }
}

TEST_CASE("a JSON pointer has at most 256 bytes") {
  CHECK(is_valid_json_pointer("/" + std::string(255, 'x')));
  CHECK_FALSE(is_valid_json_pointer("/" + std::string(256, 'x')));
}

TEST_CASE("a list keeps 16 JSON pointers, and counts what is beyond") {
  const JsonPointers list{"/1",  "/2",  "/3",  "/4",  "/5",  "/6",  "/7",  "/8", "/9",
                          "/10", "/11", "/12", "/13", "/14", "/15", "/16", "/17"};
  CHECK(list.size() == 17);
  CHECK(list.end() - list.begin() == 16);
  CHECK(*(list.end() - 1) == "/16");
  CHECK(JsonPointers{}.empty());
}
