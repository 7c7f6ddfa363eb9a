// Addresses that a worker listens on.
#include "http/listen_address.hpp"

#include <dogged/error.hpp>

#include "support/catch.hpp"

using namespace dogged;
using http::listen_address_from_text;
using http::ListenAddress;
using http::to_text;

TEST_CASE("an address to listen on has a host and a port, and is shown with both") {
  const auto read = [](const std::string& text) { return listen_address_from_text("--metrics-listen", text); };
  CHECK(read("127.0.0.1:9464") == ListenAddress{"127.0.0.1", 9464});
  CHECK(read(":0") == ListenAddress{"0.0.0.0", 0});
  CHECK(read("[::1]:65535") == ListenAddress{"::1", 65535});
  CHECK(to_text(read("[::1]:9464")) == "[::1]:9464");
  CHECK(to_text(read("localhost:80")) == "localhost:80");
}

TEST_CASE("a text that is no address to listen on is refused by its option, with the reason") {
  const std::string text = GENERATE("9464", "127.0.0.1", "127.0.0.1:", "127.0.0.1:-1", "127.0.0.1:65536",
                                    "127.0.0.1:http", "::1:9464", "[]:1", "[::1]");
  CAPTURE(text);
  CHECK_THROWS_WITH(listen_address_from_text("--metrics-listen", text), Catch::Contains("--metrics-listen is \""));
}
