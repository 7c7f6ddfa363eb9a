// Each error code of http_post.hpp, met over real connections on 127.0.0.1.
#include "http_post.hpp"

#include <cerrno>
#include <chrono>
#include <stop_token>
#include <string>
#include <thread>

#include <nlohmann/json.hpp>

#include "loopback.hpp"
#include "receiver.hpp"
#include "support/catch.hpp"

using namespace std::chrono_literals;
using Catch::Matchers::Contains;
using webhooks::post_json;
using webhooks::PostRequest;
using webhooks::PostResult;

namespace {

PostRequest request_to(const std::string& url) {
  return {.url = url, .json = R"({"n":1})", .idempotency_key = "test-1", .connect_timeout = 5s, .timeout = 10s};
}

PostResult post(const std::string& url) { return post_json(request_to(url), {}); }

class RunningReceiver {
 public:
  [[nodiscard]] std::string url(const std::string& target, const std::string& scheme = "http") const {
    return scheme + "://127.0.0.1:" + std::to_string(port_) + target;
  }
  [[nodiscard]] nlohmann::json stats() const { return nlohmann::json::parse(receiver_.stats()); }

 private:
  webhooks::Receiver receiver_;
  int port_ = receiver_.listen("127.0.0.1", 0);
};

}  // namespace

TEST_CASE("A 2xx answer has no error code") {
  const RunningReceiver receiver;
  const PostResult result = post(receiver.url("/ok"));
  CHECK(result.error_code.empty());
  CHECK(result.error_message.empty());
  CHECK(result.status == 200);
  CHECK_THAT(result.body, Contains(R"("accepted":"test-1")"));
  CHECK(receiver.stats().at("accepted") == 1);
}

TEST_CASE("An answer that is not 2xx is HTTP_ and its status") {
  const RunningReceiver receiver;
  CHECK(post(receiver.url("/gone")).error_code == "HTTP_404");
  CHECK(post(receiver.url("/down")).error_code == "HTTP_503");
  CHECK(post(receiver.url("/down?status=500")).error_code == "HTTP_500");
  CHECK(post(receiver.url("/down?status=301")).error_code == "HTTP_301");
  const PostResult result = post(receiver.url("/down?status=599"));
  CHECK(result.error_code == "HTTP_599");
  CHECK(result.status == 599);
  CHECK(result.error_message == "the receiver answered 599");
}

TEST_CASE("Retry-After and Date are handed on") {
  const RunningReceiver receiver;
  const PostResult in_seconds = post(receiver.url("/throttled?retry_after=7"));
  CHECK(in_seconds.error_code == "HTTP_429");
  CHECK(in_seconds.retry_after == "7");
  const PostResult as_date = post(receiver.url("/down?retry_after=7&form=date"));
  CHECK(as_date.error_code == "HTTP_503");
  REQUIRE(as_date.retry_after);
  CHECK_THAT(*as_date.retry_after, Catch::Matchers::EndsWith(" GMT"));
  REQUIRE(as_date.date);
  CHECK(*as_date.date != *as_date.retry_after);
  CHECK_FALSE(post(receiver.url("/gone")).retry_after);
}

TEST_CASE("A body over the limit is cut, and the status counts") {
  const RunningReceiver receiver;
  const PostResult result = post(receiver.url("/down?bytes=1000000"));
  CHECK(result.error_code == "HTTP_503");
  CHECK(result.body.size() == webhooks::response_body_bytes_max);
  CHECK(result.body_truncated);
  const PostResult accepted = post(receiver.url("/flaky?fail=1&status=202&bytes=1000000"));
  CHECK(accepted.error_code.empty());
  CHECK(accepted.status == 202);
  CHECK_FALSE(post(receiver.url("/down?bytes=100")).body_truncated);
}

TEST_CASE("A port that nobody listens on is CONNECT_REFUSED") {
  const loopback::Socket held;
  held.bind_any_port();
  const PostResult result = post(held.url("http"));
  CHECK(result.error_code == "CONNECT_REFUSED");
  CHECK(result.status == 0);
  CHECK_THAT(result.error_message, Contains(std::to_string(held.port())));
}

TEST_CASE("A connection that is not made in time is CONNECT_TIMEOUT") {
  const loopback::FullServer server;
  PostRequest request = request_to(server.url("http"));
  request.connect_timeout = 100ms;
  CHECK(post_json(request, {}).error_code == "CONNECT_TIMEOUT");
}

TEST_CASE("A TLS handshake that is not answered in time is CONNECT_TIMEOUT") {
  const loopback::SilentServer server;
  PostRequest request = request_to(server.url("https"));
  request.connect_timeout = 100ms;
  CHECK(post_json(request, {}).error_code == "CONNECT_TIMEOUT");
}

TEST_CASE("An answer that is not there in time is RESPONSE_TIMEOUT") {
  const RunningReceiver receiver;
  PostRequest request = request_to(receiver.url("/slow?seconds=60"));
  request.timeout = 500ms;
  CHECK(post_json(request, {}).error_code == "RESPONSE_TIMEOUT");
}

TEST_CASE("An answer that is late on a connection used before is RESPONSE_TIMEOUT too") {
  const RunningReceiver receiver;
  REQUIRE(post(receiver.url("/ok")).error_code.empty());
  PostRequest request = request_to(receiver.url("/slow?seconds=60"));
  request.timeout = 500ms;
  CHECK(post_json(request, {}).error_code == "RESPONSE_TIMEOUT");
}

TEST_CASE("A connection that is reset is CONNECTION_RESET") {
  const RunningReceiver receiver;
  CHECK(post(receiver.url("/reset")).error_code == "CONNECTION_RESET");
  CHECK(receiver.stats().at("by_status").at("reset") == 1);
  CHECK(post(receiver.url("/reset")).status == 200);
}

TEST_CASE("A connection that ends before the answer does is CONNECTION_RESET") {
  const loopback::OneReplyServer says_nothing{""};
  CHECK(post(says_nothing.url("http")).error_code == "CONNECTION_RESET");
  const loopback::OneReplyServer stops_short{"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc"};
  CHECK(post(stops_short.url("http")).error_code == "CONNECTION_RESET");
}

TEST_CASE("https to a plain HTTP port is TLS_ERROR") {
  const RunningReceiver receiver;
  const PostResult result = post(receiver.url("/ok", "https"));
  CHECK(result.error_code == "TLS_ERROR");
  CHECK(result.status == 0);
}

TEST_CASE("What is not HTTP is BAD_RESPONSE") {
  const loopback::OneReplyServer server{"220 mail.example ESMTP\r\n"};
  CHECK(post(server.url("http")).error_code == "BAD_RESPONSE");
}

TEST_CASE("A URL that cannot be used is INVALID_URL") {
  const auto* const url =
      GENERATE("", "not a url", "http://", "http://127.0.0.1:99999/", "127.0.0.1:1/no-scheme", "example.com/no-scheme",
               "ftp://127.0.0.1/", "file:///etc/hostname", "gopher://127.0.0.1/");
  CAPTURE(url);
  CHECK(post(url).error_code == "INVALID_URL");
}

TEST_CASE("A name without an address is DNS_FAILURE") {
  // A label of more than 63 bytes is refused by the resolver itself: this asks no server.
  CHECK(post("http://" + std::string(64, 'a') + ".invalid/").error_code == "DNS_FAILURE");
}

TEST_CASE("A requested stop aborts a delivery within seconds") {
  const loopback::SilentServer server;
  PostRequest request = request_to(server.url("http"));
  request.timeout = 120s;
  std::stop_source stop;
  PostResult result;
  std::jthread delivering{[&] { result = post_json(request, stop.get_token()); }};
  const loopback::Socket waiting_client = server.await_request();
  const auto asked_at = std::chrono::steady_clock::now();
  stop.request_stop();
  delivering.join();
  CHECK(result.error_code == "DELIVERY_ABORTED");
  CHECK(std::chrono::steady_clock::now() - asked_at < 20s);
}

TEST_CASE("A stop that was requested before a delivery begins keeps it from being sent") {
  const RunningReceiver receiver;
  std::stop_source stop;
  stop.request_stop();
  CHECK(post_json(request_to(receiver.url("/ok")), stop.get_token()).error_code == "DELIVERY_ABORTED");
  CHECK(receiver.stats().at("requests") == 0);
}

TEST_CASE("The causes of a failed connect are told apart by errno") {
  const auto code = [](int os_errno) {
    return webhooks::error_code({.result = CURLE_COULDNT_CONNECT, .os_errno = os_errno});
  };
  CHECK(code(ECONNREFUSED) == "CONNECT_REFUSED");
  CHECK(code(ETIMEDOUT) == "CONNECT_TIMEOUT");
  CHECK(code(EHOSTUNREACH) == "CONNECT_FAILED");
  CHECK(code(ENETUNREACH) == "CONNECT_FAILED");
}

TEST_CASE("A libcurl error without a name of its own keeps its number") {
  CHECK(webhooks::error_code({.result = CURLE_TOO_MANY_REDIRECTS}) == "CURL_47");
}
