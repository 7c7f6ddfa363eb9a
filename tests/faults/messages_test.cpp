// PostgreSQL's messages, however the bytes arrive.
#include "messages.hpp"

#include "support/catch.hpp"

using namespace dogged::faults;
using namespace std::string_literals;

namespace {

const std::string startup = "\0\0\0\x08\0\x03\0\0"s;
const std::string query =
    "Q\0\0\0\x0B"
    "commit\0"s;
const std::string sync_message = "S\0\0\0\x04"s;

}  // namespace

TEST_CASE("the client's first message has no type, the others have") {
  MessageSplitter splitter{MessageSplitter::From::client};
  splitter.add(startup + query + sync_message);
  CHECK(splitter.next()->bytes == startup);
  const auto second = splitter.next();
  CHECK(second->type == 'Q');
  CHECK(second->bytes == query);
  CHECK(splitter.next()->type == 'S');
  CHECK(!splitter.next());
}

TEST_CASE("all of the server's messages have a type") {
  MessageSplitter splitter{MessageSplitter::From::server};
  splitter.add("Z\0\0\0\x05I"s);
  CHECK(splitter.next()->type == 'Z');
}

TEST_CASE("a message that comes byte by byte is given when it is whole") {
  MessageSplitter splitter{MessageSplitter::From::server};
  for (std::size_t i = 0; i + 1 < query.size(); ++i) {
    splitter.add(query.substr(i, 1));
    CHECK(!splitter.next());
  }
  splitter.add(query.substr(query.size() - 1));
  CHECK(splitter.next()->bytes == query);
}
