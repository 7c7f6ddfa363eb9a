// The thread of a part of the worker: how it is woken, stopped and joined, and what becomes of an exception.
#include "base/service.hpp"

#include <atomic>
#include <exception>
#include <future>
#include <stdexcept>
#include <string>

#include "support/catch.hpp"

using namespace dogged;
using namespace std::chrono_literals;
using runtime::Service;
using runtime::SteadyClock;

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
