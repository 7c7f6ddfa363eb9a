// The server of pages that workers and the exporter have, over real HTTP: what slow scrapers cost.
#include "http/page_server.hpp"

#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include <httplib.h>

#include "support/catch.hpp"
#include "support/unread_scrape.hpp"

using namespace dogged;
using http::Page;
using http::PageServer;
using test::UnreadScrape;

namespace {

/// Serves a page of its own size at each path: /small, and /large, which fits into no socket's buffers.
PageServer server_of_pages() {
  return PageServer{"the test", {.host = "127.0.0.1", .port = 0}, [](std::string_view path, std::string_view) {
                      constexpr std::size_t large = 64 << 20;
                      return Page{.body = path == "/large" ? std::string(large, 'x') : "small"};
                    }};
}

std::string small_page_of(const PageServer& server) {
  httplib::Client client{"127.0.0.1", server.address().port};
  client.set_read_timeout(60);
  const auto answer = client.Get("/small");
  REQUIRE(answer);
  return answer->body;
}

}  // namespace

TEST_CASE("a scraper that asks and never reads holds up no other scrape") {
  const PageServer server = server_of_pages();
  const UnreadScrape unread{server.address().port, "/large"};
  CHECK(small_page_of(server) == "small");
}

TEST_CASE("scrapers that never read are cut off: more of them than there are threads do not end the serving") {
  const PageServer server = server_of_pages();
  std::vector<UnreadScrape> unread;
  for (int i = 0; i < 3; ++i) unread.emplace_back(server.address().port, "/large");
  CHECK(small_page_of(server) == "small");
}

TEST_CASE("a scraper that reads a little now and then is cut off before it has read a large page") {
  const PageServer server = server_of_pages();
  httplib::Client client{"127.0.0.1", server.address().port};
  client.set_read_timeout(60);
  std::size_t bytes = 0;
  const auto answer = client.Get("/large", [&](const char*, std::size_t length) {
    bytes += length;
    std::this_thread::sleep_for(std::chrono::milliseconds{5});
    return true;
  });
  CHECK_FALSE(answer);
  CHECK(bytes > 0);
}

TEST_CASE("a connection that never asks is closed, and holds up no scrape") {
  const PageServer server = server_of_pages();
  std::vector<UnreadScrape> idle;
  for (int i = 0; i < 3; ++i) idle.emplace_back(server.address().port, "");
  CHECK(small_page_of(server) == "small");
  for (const UnreadScrape& connection : idle) CHECK(connection.is_closed());
}
