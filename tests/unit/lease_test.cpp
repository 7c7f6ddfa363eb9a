// What a worker knows of its own lease.
#include "lease.hpp"

#include <chrono>

#include "support/catch.hpp"

using namespace dogged;
using namespace std::chrono_literals;
using runtime::Lease;

TEST_CASE("a lease is renewed steadily while no gap is longer than it may be, and again after the next renewal") {
  const runtime::SteadyClock::time_point start{1h};
  Lease lease{1, 30s, start};
  CHECK(lease.is_renewed_steadily(start, 10s));
  CHECK(lease.is_renewed_steadily(start + 10s, 10s));
  CHECK_FALSE(lease.is_renewed_steadily(start + 11s, 10s));
  (void)lease.note_renewed(start + 5s);
  CHECK(lease.is_renewed_steadily(start + 15s, 10s));
  (void)lease.note_renewed(start + 16s);  // it stood still
  CHECK_FALSE(lease.is_renewed_steadily(start + 16s, 10s));
  (void)lease.note_renewed(start + 21s);
  CHECK(lease.is_renewed_steadily(start + 21s, 10s));
}
