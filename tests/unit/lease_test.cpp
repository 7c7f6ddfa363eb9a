// What a worker knows of its own lease.
#include "lease.hpp"

#include <chrono>

#include "support/catch.hpp"

using namespace dogged;
using namespace std::chrono_literals;
using runtime::Lease;

TEST_CASE("a lease is renewed steadily while no gap is longer than half of it, and again after the next renewal") {
  const runtime::SteadyClock::time_point start{1h};
  Lease lease{1, 20s, start};
  CHECK(lease.is_renewed_steadily(start, 5s));
  CHECK(lease.is_renewed_steadily(start + 10s, 5s));
  CHECK_FALSE(lease.is_renewed_steadily(start + 11s, 5s));
  (void)lease.note_renewed(start + 5s);
  CHECK(lease.is_renewed_steadily(start + 15s, 5s));
  (void)lease.note_renewed(start + 16s);  // it stood still
  CHECK_FALSE(lease.is_renewed_steadily(start + 16s, 5s));
  (void)lease.note_renewed(start + 21s);
  CHECK(lease.is_renewed_steadily(start + 21s, 5s));
}

TEST_CASE("a lease is not renewed steadily after three heartbeats without a renewal, however long it is") {
  const runtime::SteadyClock::time_point start{1h};
  const Lease lease{1, 1h, start};
  CHECK(lease.is_renewed_steadily(start + 15s, 5s));
  CHECK_FALSE(lease.is_renewed_steadily(start + 16s, 5s));
}

TEST_CASE("who holds no task renews his lease half as often, but three times in its length") {
  const Lease lease{1, 30s, runtime::SteadyClock::time_point{}};
  CHECK(lease.until_next_renewal(5s, true) == 5s);
  CHECK(lease.until_next_renewal(5s, false) == 10s);
  CHECK(lease.until_next_renewal(1s, false) == 2s);
  CHECK(lease.until_next_renewal(7s, false) == 10s);
  CHECK(lease.until_next_renewal(10s, false) == 10s);
  CHECK(lease.until_next_renewal(10s, true) == 10s);
}
