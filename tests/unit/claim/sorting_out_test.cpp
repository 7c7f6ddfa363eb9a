// The fate of the tasks of a claim: every claim of up to four tasks, with each state of a circuit and a retry budget.
#include "claim/core/sorting_out.hpp"

#include <array>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "circuits/core/ledger.hpp"
#include "support/catch.hpp"
#include "support/virtual_time.hpp"
#include "tasks/definition.hpp"

using namespace std::chrono_literals;
using namespace dogged;
using namespace dogged::runtime;
using circuit::SharedCircuit;
using detail::CircuitEvent;
using dogged::test::start;

namespace {

enum class Fate { none, begins, expired, by_circuit, over_budget };

struct Kind {
  bool is_expired = false;
  bool has_circuit = false;
  bool is_retry = false;
};

enum class Budget { none, spent, one_left, ample };

std::unique_ptr<RetryThrottle> throttle_of(Budget budget) {
  if (budget == Budget::none) return nullptr;
  auto throttle = std::make_unique<RetryThrottle>(
      RetryBudgetSettings{.share = 0.5, .min_retries_per_second = budget == Budget::ample ? 1000.0 : 0.1});
  if (budget == Budget::spent) REQUIRE(throttle->ask(start, 0.5) == std::nullopt);
  return throttle;
}

/// How many retries it lets begin, of a few.
std::size_t room_of(Budget budget) {
  if (budget == Budget::spent) return 0;
  return budget == Budget::one_left ? 1 : 100;
}

/// The circuit "psp" in the database, and what a worker knows of it.
struct Service {
  explicit Service(CircuitState state)
      : row{.name = "psp",
            .settings = {.failure_threshold = 3, .recovery_timeout = 10s, .success_threshold = 1},
            .circuit = {.state = state, .since_ms = 1'000'000, .generation = 7},
            .now_ms = 1'001'000} {
    ledger.on_read({row}, start);
  }

  SharedCircuit row;
  CircuitLedger ledger;

  /// As HandingOut and Circuits::ask.
  void answer(SortingOut& sorting) {
    for (const auto& [name, count] : sorting.asks()) {
      auto admission = ledger.admit(name, count, start);
      if (!admission) std::tie(admission, row.circuit) = CircuitLedger::ask(row, count);
      sorting.on_answer(name, ledger.answer(name, *admission, count, [] { return 0.5; }));
    }
  }
};

const Definition& definition_with(bool circuit) {
  static const std::array<Definition, 2> definitions = [] {
    std::array<Definition, 2> made;
    made[1].circuit = "psp";
    return made;
  }();
  return definitions[circuit ? 1 : 0];
}

std::vector<ClaimedTask> claim_of(const std::vector<Kind>& kinds) {
  std::vector<ClaimedTask> claimed;
  for (const Kind& kind : kinds) {
    ClaimedTask& task = claimed.emplace_back();
    task.id = static_cast<TaskId>(claimed.size());
    task.definition = &definition_with(kind.has_circuit);
    task.retry_count = kind.is_retry ? 1 : 0;
    task.claimed_at = start;
    if (kind.is_expired) task.expires_at = start;
  }
  return claimed;
}

/// By the promises alone, one task after another.
std::vector<Fate> expected_fates(const std::vector<Kind>& kinds, CircuitState state, Budget budget) {
  std::size_t probes = state == CircuitState::closed ? 100 : state == CircuitState::half_open ? 1 : 0;
  std::size_t room = room_of(budget);
  std::vector<Fate> fates;
  for (const Kind& kind : kinds) {
    if (kind.is_expired) {
      fates.push_back(Fate::expired);
    } else if (kind.has_circuit && probes == 0) {
      fates.push_back(Fate::by_circuit);
    } else {
      if (kind.has_circuit) --probes;
      const bool is_within = !kind.is_retry || room > 0;
      if (kind.is_retry && is_within) --room;
      fates.push_back(is_within ? Fate::begins : Fate::over_budget);
    }
  }
  return fates;
}

/// The fate of each task. Fails if a task has two, or a list is not in the order of the claim.
std::vector<Fate> fates_of(const SortedOut& sorted, std::size_t count) {
  std::vector<Fate> fates(count, Fate::none);
  const auto note = [&](const auto& list, Fate fate, const auto& task_of) {
    TaskId last = 0;
    for (const auto& one : list) {
      const TaskId id = task_of(one).id;
      REQUIRE(id > last);
      REQUIRE(fates.at(static_cast<std::size_t>(id) - 1) == Fate::none);
      fates[static_cast<std::size_t>(id) - 1] = fate;
      last = id;
    }
  };
  const auto itself = [](const ClaimedTask& task) -> const ClaimedTask& { return task; };
  const auto deferred = [](const Deferral& deferral) -> const ClaimedTask& {
    REQUIRE(deferral.wait >= 1ms);
    return deferral.task;
  };
  note(sorted.begin, Fate::begins, itself);
  note(sorted.expired, Fate::expired, itself);
  note(sorted.by_circuit, Fate::by_circuit, deferred);
  note(sorted.over_budget, Fate::over_budget, deferred);
  return fates;
}

std::string text_of(const std::vector<Kind>& kinds) {
  std::string text;
  for (const Kind& kind : kinds) {
    text += std::string{kind.is_expired ? "expired " : ""} + (kind.has_circuit ? "circuit " : "") +
            (kind.is_retry ? "retry; " : "first; ");
  }
  return text;
}

/// All claims of up to four tasks.
int for_each_claim(const std::function<void(const std::vector<Kind>&)>& check) {
  int claims = 0;
  std::vector<Kind> kinds;
  const std::function<void()> extend = [&] {
    check(kinds);
    ++claims;
    if (kinds.size() == 4) return;
    for (const bool is_expired : {false, true}) {
      for (const bool has_circuit : {false, true}) {
        for (const bool is_retry : {false, true}) {
          kinds.push_back({is_expired, has_circuit, is_retry});
          extend();
          kinds.pop_back();
        }
      }
    }
  };
  extend();
  return claims;
}

constexpr std::array circuit_states{CircuitState::closed, CircuitState::half_open, CircuitState::open};
constexpr std::array budgets{Budget::none, Budget::spent, Budget::one_left, Budget::ample};

template <class Check>
void for_each_state(Check check) {
  for (const CircuitState state : circuit_states) {
    for (const Budget budget : budgets) check(state, budget);
  }
}

struct Sorted {
  Service service;
  std::unique_ptr<RetryThrottle> retries;
  SortedOut out;
};

Sorted sort_out(const std::vector<Kind>& kinds, CircuitState state, Budget budget, bool has_more = false) {
  Sorted sorted{Service{state}, throttle_of(budget), {}};
  SortingOut sorting{claim_of(kinds), has_more, start};
  sorted.service.answer(sorting);
  sorted.out = std::move(sorting).finish(sorted.retries.get(), start, [] { return 0.5; });
  return sorted;
}

}  // namespace

TEST_CASE("each claimed task has one fate, and what begins keeps the order of the claim", "[one_thread]") {
  for_each_state([](CircuitState state, Budget budget) {
    const int claims = for_each_claim([&](const std::vector<Kind>& kinds) {
      const SortedOut sorted = sort_out(kinds, state, budget).out;
      const bool is_as_expected = fates_of(sorted, kinds.size()) == expected_fates(kinds, state, budget);
      if (!is_as_expected)
        FAIL(text_of(kinds) << "circuit " << to_text(state) << ", budget " << static_cast<int>(budget));
    });
    CHECK(claims == 1 + 8 + 64 + 512 + 4096);
  });
}

TEST_CASE("a half-open circuit spends a probe only on a task that begins", "[one_thread]") {
  for_each_state([](CircuitState state, Budget budget) {
    for_each_claim([&](const std::vector<Kind>& kinds) {
      const Sorted sorted = sort_out(kinds, state, budget);
      CircuitLedger::Events given_back;
      for (const Deferral& deferral : sorted.out.over_budget) {
        if (deferral.task.definition->circuit.empty()) continue;
        given_back.push_back({CircuitEvent::Kind::abandon, deferral.task.circuit_generation});
      }
      int probes = 0;
      for (const ClaimedTask& task : sorted.out.begin) probes += task.definition->circuit.empty() ? 0 : 1;
      if (state == CircuitState::closed) probes = 0;  // it counts none
      if (CircuitLedger::after(sorted.service.row, given_back).probes != probes) {
        FAIL(text_of(kinds) << "circuit " << to_text(state) << ", budget " << static_cast<int>(budget));
      }
    });
  });
}

TEST_CASE("only the retries that begin are counted by the retry budget, and all attempts that begin", "[one_thread]") {
  for_each_state([](CircuitState state, Budget budget) {
    if (budget == Budget::none) return;
    for_each_claim([&](const std::vector<Kind>& kinds) {
      const Sorted sorted = sort_out(kinds, state, budget);
      const auto alike = throttle_of(budget);
      for (const ClaimedTask& task : sorted.out.begin) {
        if (task.retry_count > 0 && alike->ask(start, 0.5)) FAIL(text_of(kinds) << "a retry begins without room");
      }
      for (std::size_t i = 0; i < sorted.out.over_budget.size(); ++i) {
        if (!alike->ask(start, 0.5)) FAIL(text_of(kinds) << "a retry waits that has room");
      }
      for (std::size_t i = 0; i < sorted.out.begin.size(); ++i) alike->note_execution(start);
      if (sorted.retries->ask(start, 0.5) != alike->ask(start, 0.5)) {
        FAIL(text_of(kinds) << "circuit " << to_text(state) << ", budget " << static_cast<int>(budget));
      }
    });
  });
}

TEST_CASE("a queue that has more has tasks deferred in place of open circuits that hold back some, and of no others",
          "[one_thread]") {
  for_each_state([](CircuitState state, Budget budget) {
    for (const bool has_more : {false, true}) {
      for_each_claim([&](const std::vector<Kind>& kinds) {
        const SortedOut sorted = sort_out(kinds, state, budget, has_more).out;
        const bool is_deferred = has_more && state == CircuitState::open && !sorted.by_circuit.empty();
        const auto expected = is_deferred ? std::vector<std::string_view>{"psp"} : std::vector<std::string_view>{};
        if (sorted.in_place != expected) FAIL(text_of(kinds) << "circuit " << to_text(state));
      });
    }
  });
}

TEST_CASE("a queue's throttling begins with the first retry that its budget holds back, and once") {
  const Kind retry{.is_retry = true};
  CHECK_FALSE(sort_out({retry}, CircuitState::closed, Budget::one_left).out.throttling_begins);
  const auto retries = throttle_of(Budget::one_left);
  const auto begins = [&](int count) {
    return SortingOut{claim_of(std::vector(static_cast<std::size_t>(count), retry)), false, start}
        .finish(retries.get(), start, [] { return 0.5; })
        .throttling_begins;
  };
  CHECK(begins(2));
  CHECK_FALSE(begins(2));
  CHECK(retries->take_end(start + 10min) == 3);
  CHECK(begins(100));
}

TEST_CASE("the retry budget counts by the time at which attempts begin, after a slow answer of a circuit") {
  const auto begun_at = [](TimePoint now) {
    const auto retries = throttle_of(Budget::one_left);
    for (int i = 0; i < 10; ++i) retries->note_execution(start);  // room for five retries, in this window
    const Kind retry{.is_retry = true};
    return SortingOut{claim_of({retry, retry, retry}), false, start}
        .finish(retries.get(), now, [] { return 0.5; })
        .begin.size();
  };
  CHECK(begun_at(start) == 3);
  CHECK(begun_at(start + 12s) == 1);
}

TEST_CASE("a task does not begin at the time of its expiry, but before") {
  std::vector<ClaimedTask> claimed = claim_of({{}, {}});
  claimed[0].expires_at = start;
  claimed[1].expires_at = start + 1ns;
  const SortedOut sorted = SortingOut{std::move(claimed), false, start}.finish(nullptr, start, {});
  CHECK(fates_of(sorted, 2) == std::vector{Fate::expired, Fate::begins});
}
