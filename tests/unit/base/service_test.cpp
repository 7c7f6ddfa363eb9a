// The thread of a part of the worker: how it is woken, stopped and joined, and what becomes of an exception.
#include "base/service.hpp"

#include <atomic>
#include <exception>
#include <future>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <vector>

#include <spdlog/sinks/ringbuffer_sink.h>
#include <spdlog/spdlog.h>

#include <dogged/error.hpp>

#include "base/session.hpp"
#include "support/catch.hpp"

using namespace dogged;
using namespace std::chrono_literals;
using runtime::Service;
using runtime::SteadyClock;

namespace {

/// A service, and what the log of its session says. The session recovers in a moment.
struct Recovering {
  std::shared_ptr<spdlog::sinks::ringbuffer_sink_mt> lines = std::make_shared<spdlog::sinks::ringbuffer_sink_mt>(10);
  Service service{{.session = std::make_shared<runtime::Session>(
                       db::Settings{}, "service", std::make_shared<spdlog::logger>("test", lines), 1ms)}};

  [[nodiscard]] std::string logged() const { return std::to_string(lines->last_formatted().size()) + " logged"; }
};

struct PlannedAction {
  enum class Step { work, end };

  Step step = Step::end;
};

}  // namespace

TEST_CASE("a service waits until it is woken, however far the time is that it waits for") {
  Service service{{}};
  std::promise<bool> woken;
  service.start([&] { woken.set_value(service.wait_until(SteadyClock::now() + 1h)); });
  service.wake();
  CHECK(woken.get_future().get());
}

TEST_CASE("a wake that comes before the wait ends the wait, and no more than one") {
  Service service{{}};
  service.wake();
  service.wake();
  CHECK(service.wait_until(SteadyClock::now() + 1h));
  CHECK_FALSE(service.wait_until(SteadyClock::now()));
}

TEST_CASE("a service that is told to stop waits for nothing any more") {
  Service service{{}};
  std::atomic<int> waits{0};
  service.start([&] {
    while (!service.is_stopping()) {
      ++waits;
      service.wait_until(SteadyClock::now() + 1h);
    }
    service.wait_until(SteadyClock::now() + 1h);
  });
  service.stop();
  CHECK(waits <= 1);
  CHECK(service.stop_token().stop_requested());
}

TEST_CASE("the destructor of a service joins its thread, and one that was never started has none") {
  std::atomic<bool> has_ended{false};
  {
    Service never_started{{}};
    Service service{{}};
    service.start([&] {
      while (!service.is_stopping()) service.wait_until(SteadyClock::now() + 1h);
      has_ended = true;
    });
  }
  CHECK(has_ended);
}

TEST_CASE("an exception of a service's work is told, as the last act of the thread") {
  std::promise<std::string> told;
  Service service{{.on_defect = [&](std::exception_ptr error) {
    try {
      std::rethrow_exception(std::move(error));
    } catch (const std::exception& caught) {
      told.set_value(caught.what());
    }
  }}};
  service.start([] { throw std::logic_error{"a broken invariant"}; });
  CHECK(told.get_future().get() == "a broken invariant");
  service.stop();
}

TEST_CASE("a plan hears of a failure before its service recovers, and is asked for its next action after that") {
  const Recovering recovering;
  std::vector<std::string> story;
  const auto note = [&](const std::string& what) { story.push_back(what + ", " + recovering.logged()); };
  int left = 2;
  recovering.service.run_plan(
      [&] {
        note("next");
        return PlannedAction{left-- > 0 ? PlannedAction::Step::work : PlannedAction::Step::end};
      },
      [&](const PlannedAction&) {
        note("work");
        if (left == 1) throw ConnectionError{"the server is away", "", ""};
      },
      [&](const std::exception& error) { note(error.what()); });
  CHECK(story == std::vector<std::string>{"next, 0 logged", "work, 0 logged", "the server is away, 0 logged",
                                          "next, 1 logged", "work, 1 logged", "next, 1 logged"});
}

TEST_CASE("a plan is asked again after it could not give its next action") {
  const Recovering recovering;
  int asked = 0;
  int failures = 0;
  recovering.service.run_plan(
      [&] {
        if (++asked == 1) throw std::bad_alloc{};
        return PlannedAction{};
      },
      [](const PlannedAction&) { FAIL("there is no work"); }, [&](const std::exception&) { ++failures; });
  CHECK(asked == 2);
  CHECK(failures == 1);
}

TEST_CASE("a defect in an action is told to the plan, and ends the work of its service") {
  const Recovering recovering;
  int failures = 0;
  const auto run = [&] {
    recovering.service.run_plan([] { return PlannedAction{PlannedAction::Step::work}; },
                                [](const PlannedAction&) { throw std::logic_error{"a broken invariant"}; },
                                [&](const std::exception&) { ++failures; });
  };
  CHECK_THROWS_AS(run(), std::logic_error);
  CHECK(failures == 1);
  CHECK(recovering.logged() == "0 logged");
}

TEST_CASE("an error that a plan throws again ends the work of its service, which needs no session then") {
  const Service service{{}};
  int asked = 0;
  const auto run = [&] {
    service.run_plan(
        [&] {
          ++asked;
          return PlannedAction{PlannedAction::Step::work};
        },
        [](const PlannedAction&) {
          throw ConnectionError{"the server is away", "", ""};
        },
        [](const std::exception&) { throw; });
  };
  CHECK_THROWS_AS(run(), ConnectionError);
  CHECK(asked == 1);
}
