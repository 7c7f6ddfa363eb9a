// The connection that handlers share: none of them stays in it once it is asked to stop.
#include "step/handler_session.hpp"

#include <future>
#include <memory>
#include <stop_token>
#include <string>

#include "support/catch.hpp"
#include "support/test_database.hpp"

using namespace dogged;
using namespace std::chrono_literals;
using test::contains;
using test::error_of;
using test::Gate;
using test::TestDatabase;

namespace {

class HandlerSession : public runtime::HandlerSession {
 public:
  explicit HandlerSession(const db::Settings& settings)
      : runtime::HandlerSession{std::make_shared<runtime::Session>(settings, "steps", spdlog::default_logger()),
                                std::make_shared<runtime::FirstDefect>(runtime::WakeFd{})} {}
};

}  // namespace

TEST_CASE("a handler that is asked to stop leaves the handlers' session although another one is asking") {
  TestDatabase database;
  HandlerSession session{database.settings()};
  Gate asks, may_end;
  auto first = std::async(std::launch::async, [&] {
    return session.converse(
        [&](db::Connection&) {
          asks.open();
          may_end.wait();
          return 1;
        },
        {});
  });
  asks.wait();
  std::stop_source stop;
  auto second = std::async(std::launch::async,
                           [&] { return session.converse([](db::Connection&) { return 2; }, stop.get_token()); });
  auto third = std::async(std::launch::async, [&] { return session.converse([](db::Connection&) { return 3; }, {}); });
  stop.request_stop();
  CHECK_THROWS_AS(second.get(), ConnectionError);
  may_end.open();
  CHECK(first.get() == 1);
  CHECK(third.get() == 3);
}

TEST_CASE("a handler that is asked to stop makes no further try to reach a database that is away") {
  db::Settings away;
  away.url = "postgresql:///dogged?host=/nowhere";
  HandlerSession session{away};
  std::stop_source stop;
  stop.request_stop();
  const auto ask = [&] {
    return error_of<ConnectionError>(
               [&] { (void)session.converse([](db::Connection&) { return 1; }, stop.get_token()); })
        .message();
  };
  CHECK(contains(ask(), "/nowhere"));
  CHECK(contains(ask(), "asked to stop while it waited"));
}

TEST_CASE("once the database is back, a handler that is to stop may ask") {
  TestDatabase database;
  HandlerSession session{database.settings()};
  int tries = 0;
  const auto talk = [&](db::Connection&) {
    if (++tries == 1) throw ConnectionError{"the server is away", "", ""};
    return tries;
  };
  CHECK(session.converse(talk, {}) == 2);
  std::stop_source stop;
  stop.request_stop();
  CHECK(session.converse(talk, stop.get_token()) == 3);
}
