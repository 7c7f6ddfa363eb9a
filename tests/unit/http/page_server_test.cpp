// The server of pages that workers and the exporter have, over real HTTP: what slow scrapers cost.
#include "http/page_server.hpp"

#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <httplib.h>

#include "support/catch.hpp"
#include "support/unread_scrape.hpp"

using namespace dogged;
using namespace std::chrono_literals;
using http::Page;
using http::PageServer;
using test::UnreadScrape;

namespace {

std::string small_page_of(const PageServer& server) {
  httplib::Client client{"127.0.0.1", server.address().port};
  client.set_read_timeout(50);
  const auto answer = client.Get("/small");
  REQUIRE(answer);
  return answer->body;
}

/// The client's end of its connection.
int port_of(const httplib::Client& client) {
  sockaddr_in address{};
  socklen_t size = sizeof address;
  REQUIRE(::getsockname(client.socket(), reinterpret_cast<sockaddr*>(&address), &size) == 0);
  return ntohs(address.sin_port);
}

/// Serves a page of its own size at each path: /small, and /large, which fits into no socket's buffers.
struct ServerOfPages {
  // The first request of a process sets up statics of libcpp-httplib. ThreadSanitizer does not see what guards them,
  // and took a second request beside the first for a race.
  explicit ServerOfPages(const PageServer::Limits& limits = {})
      : server("the test", {.host = "127.0.0.1", .port = 0}, page_at, limits) {
    REQUIRE(small_page_of(server) == "small");
  }

  static Page page_at(std::string_view path, std::string_view) {
    constexpr std::size_t large = 64 << 20;
    return {.body = path == "/large" ? std::string(large, 'x') : "small"};
  }

  PageServer server;
};

}  // namespace

TEST_CASE("a scraper that asks and never reads holds up no other scrape") {
  const ServerOfPages pages;
  const PageServer& server = pages.server;
  const UnreadScrape unread{server.address().port, "/large"};
  CHECK(small_page_of(server) == "small");
}

TEST_CASE("scrapers that never read are cut off: more of them than there are threads do not end the serving") {
  const ServerOfPages pages;
  const PageServer& server = pages.server;
  std::vector<UnreadScrape> unread;
  for (int i = 0; i < 4; ++i) unread.emplace_back(server.address().port, "/large");
  CHECK(small_page_of(server) == "small");
}

TEST_CASE("a scraper that reads a little now and then is cut off before it has read a large page") {
  const ServerOfPages pages{{.request = 3s}};
  const PageServer& server = pages.server;
  httplib::Client client{"127.0.0.1", server.address().port};
  client.set_read_timeout(60);
  std::size_t bytes = 0;
  const auto answer = client.Get("/large", [&](const char*, std::size_t length) {
    bytes += length;
    std::this_thread::sleep_for(5ms);
    return true;
  });
  CHECK_FALSE(answer);
  CHECK(bytes > 0);
}

TEST_CASE("a client that asks a byte at a time is cut off, however steadily it sends") {
  const ServerOfPages pages{{.request = 3s}};
  const UnreadScrape slow{pages.server.address().port, ""};
  const std::string_view request =
      "GET /small HTTP/1.1\r\nHost: a name that never ends, because it goes on and on and on and on";
  std::size_t sent = 0;
  while (slow.send(request.substr(sent % request.size(), 1))) {
    ++sent;
    std::this_thread::sleep_for(100ms);
  }
  CHECK(sent > 1);
}

TEST_CASE("many requests of one connection are answered, each with its own time") {
  const ServerOfPages pages{{.request = 3s}};
  httplib::Client client{"127.0.0.1", pages.server.address().port};
  client.set_keep_alive(true);
  REQUIRE(client.Get("/small"));
  const int first_port = port_of(client);
  for (int i = 0; i < 4; ++i) {
    REQUIRE(client.Get("/small"));
    std::this_thread::sleep_for(1s);  // all together longer than one request may take
  }
  REQUIRE(client.Get("/small"));
  CHECK(port_of(client) == first_port);  // the client would connect anew without a word
  for (int i = 0; i < 250; ++i) REQUIRE(client.Get("/small"));
}

TEST_CASE("connections that are kept open give their threads to one that asks") {
  const ServerOfPages pages{{.without_progress = 1min, .request = 1min}};
  std::vector<std::unique_ptr<httplib::Client>> scrapers;
  for (int i = 0; i < PageServer::threads; ++i) {
    scrapers.push_back(std::make_unique<httplib::Client>("127.0.0.1", pages.server.address().port));
    scrapers.back()->set_keep_alive(true);
    REQUIRE(scrapers.back()->Get("/small"));
  }
  CHECK(small_page_of(pages.server) == "small");
}

TEST_CASE("a probe is answered while connections that never ask hold all threads and wait for more") {
  const ServerOfPages pages{{.without_progress = 10min, .request = 10min}};
  std::vector<UnreadScrape> silent;
  for (int i = 0; i < 10; ++i) silent.emplace_back(pages.server.address().port, "");
  CHECK(small_page_of(pages.server) == "small");
  for (std::size_t i = 0; i < PageServer::threads; ++i) CHECK(silent.at(i).is_closed());
}

TEST_CASE("a connection whose request asks for its end is closed behind the answer") {
  const ServerOfPages pages{{.without_progress = 10min, .request = 10min}};
  const UnreadScrape scrape{pages.server.address().port, ""};
  REQUIRE(scrape.send("GET /small HTTP/1.1\r\nHost: scraper\r\nConnection: close\r\n\r\n"));
  CHECK(scrape.is_closed());
}

TEST_CASE("a request for many ranges of a page gets the page, once") {
  const ServerOfPages pages;
  httplib::Client client{"127.0.0.1", pages.server.address().port};
  const auto answer = client.Get("/small", httplib::Headers{{"Range", "bytes=0-,0-,0-,0-"}});
  REQUIRE(answer);
  CHECK(answer->status == 200);
  CHECK(answer->body == "small");
}

TEST_CASE("a connection that never asks is closed, and holds up no scrape") {
  const ServerOfPages pages;
  const PageServer& server = pages.server;
  std::vector<UnreadScrape> idle;
  for (int i = 0; i < 4; ++i) idle.emplace_back(server.address().port, "");
  CHECK(small_page_of(server) == "small");
  for (const UnreadScrape& connection : idle) CHECK(connection.is_closed());
}
