// The receiver keeps to its script: the demo and the other tests rely on it.
#include "receiver.hpp"

#include <chrono>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "http_post.hpp"
#include "support/catch.hpp"

using namespace std::chrono_literals;
using Catch::Matchers::Contains;

namespace {

webhooks::PostResult post(int port, const std::string& target, const std::string& key,
                          std::chrono::milliseconds timeout = 10s) {
  return webhooks::post_json({.url = "http://127.0.0.1:" + std::to_string(port) + target,
                              .json = "{}",
                              .idempotency_key = key,
                              .timeout = timeout},
                             {});
}

nlohmann::json stats(const webhooks::Receiver& receiver) { return nlohmann::json::parse(receiver.stats()); }

}  // namespace

TEST_CASE("Each delivery has its own story, by its Idempotency-Key") {
  webhooks::Receiver receiver;
  const int port = receiver.listen("127.0.0.1", 0);
  for (const std::string key : {"one", "two"}) {
    CHECK(post(port, "/flaky?fail=2&status=502", key).status == 502);
    CHECK(post(port, "/flaky?fail=2&status=502", key).status == 502);
    CHECK(post(port, "/flaky?fail=2&status=502", key).status == 200);
  }
  CHECK(stats(receiver) == nlohmann::json{{"requests", 6},
                                          {"deliveries", 2},
                                          {"accepted", 2},
                                          {"duplicates", 0},
                                          {"by_status", {{"200", 2}, {"502", 4}}},
                                          {"by_path", {{"/flaky", 6}}}});
}

TEST_CASE("A delivery that is accepted twice is counted as a duplicate") {
  webhooks::Receiver receiver;
  const int port = receiver.listen("127.0.0.1", 0);
  post(port, "/ok", "same");
  post(port, "/ok", "same");
  CHECK(stats(receiver).at("accepted") == 1);
  CHECK(stats(receiver).at("duplicates") == 1);
}

TEST_CASE("Each request is logged with its attempt and its status") {
  std::vector<std::string> lines;
  {
    webhooks::Receiver receiver{[&lines](const webhooks::ReceivedRequest& request) {
      lines.push_back(request.delivery + " " + request.target + " " + std::to_string(request.attempt) + " " +
                      std::to_string(request.status));
    }};
    const int port = receiver.listen("127.0.0.1", 0);
    post(port, "/reset?fail=1", "key");
    post(port, "/reset?fail=1", "key");
  }
  CHECK(lines == std::vector<std::string>{"key /reset?fail=1 1 0", "key /reset?fail=1 2 200"});
}

TEST_CASE("A late address refuses connections until its outage is over") {
  webhooks::Receiver receiver;
  const int down = receiver.listen_late("127.0.0.1", 0, 1h);
  CHECK(post(down, "/ok", "key").error_code == "CONNECT_REFUSED");
  const int back = receiver.listen_late("127.0.0.1", 0, 0ms);
  const auto deadline = std::chrono::steady_clock::now() + 20s;
  std::string code = "not asked";
  while (!code.empty() && std::chrono::steady_clock::now() < deadline) code = post(back, "/ok", "key").error_code;
  CHECK(code.empty());
}

TEST_CASE("A port that is taken is refused, not shared") {
  webhooks::Receiver receiver;
  const int port = receiver.listen("127.0.0.1", 0);
  webhooks::Receiver other;
  CHECK_THROWS_WITH(other.listen("127.0.0.1", port), Contains("cannot listen on 127.0.0.1:" + std::to_string(port)));
  CHECK_THROWS_WITH(other.listen_late("127.0.0.1", port, 1h), Contains("cannot listen on 127.0.0.1:"));
}

TEST_CASE("A script that cannot be read is answered with 400 and the reason") {
  webhooks::Receiver receiver;
  const int port = receiver.listen("127.0.0.1", 0);
  for (const std::string query :
       {"fail=-1", "fail=1001", "fail=x", "fail=", "status=600", "status=199", "retry_after=86401", "form=later",
        "seconds=61", "seconds=nan", "seconds=1x", "bytes=-1", "bytes=99999999"}) {
    CAPTURE(query);
    const webhooks::PostResult result = post(port, "/flaky?" + query, "key");
    CHECK(result.status == 400);
    CHECK_THAT(result.body, Contains(query));
  }
  CHECK(stats(receiver).at("requests") == 0);
}

TEST_CASE("A path without a story is answered with 404 and those that there are") {
  webhooks::Receiver receiver;
  const webhooks::PostResult result = post(receiver.listen("127.0.0.1", 0), "/nowhere", "key");
  CHECK(result.status == 404);
  CHECK_THAT(result.body, Contains("/nowhere") && Contains("/flaky"));
}

TEST_CASE("A receiver stops while it is making a client wait") {
  const auto begin = std::chrono::steady_clock::now();
  {
    webhooks::Receiver receiver;
    const int port = receiver.listen("127.0.0.1", 0);
    receiver.listen_late("127.0.0.1", 0, 1h);
    CHECK(post(port, "/slow?seconds=60", "key", 100ms).error_code == "RESPONSE_TIMEOUT");
  }
  CHECK(std::chrono::steady_clock::now() - begin < 30s);
}
