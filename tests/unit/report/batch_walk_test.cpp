// A walk through one batch of reports. Answers, verdicts, refusals and failures may come in any sequence, of any
// length. The batch has few states that differ in what follows, so that the walk takes each step from each of them.
#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <deque>
#include <initializer_list>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "report/core/batch.hpp"
#include "support/catch.hpp"
#include "support/virtual_time.hpp"

using namespace std::chrono_literals;
using namespace dogged;
using namespace dogged::runtime;
using dogged::test::start;

namespace {

constexpr std::array all_verdicts{Verdict::locked,    Verdict::cancelled_first, Verdict::expired_first,
                                  Verdict::on_record, Verdict::committed,       Verdict::fenced};
constexpr TaskId last_task = 4;
constexpr TaskId task_with_message = 2;
constexpr TaskId task_with_result = 3;

/// What became of one report. The tasks have the ids 1 to last_task.
struct SettledReport {
  enum class Fate { unsettled, taken, again, fenced };

  Fate fate = Fate::unsettled;
  int can_be_stripped = 0;  // so many times: of its result, and then of the message that says so
};

/// A retry, so that each verdict changes a report in its own way.
Report retried_report(TaskId id) {
  Report report;
  report.id = id;
  report.attempt = 2;
  report.transition.outcome = lifecycle::Outcome::failed;
  report.transition.retry_count = 1;
  report.transition.next_run = lifecycle::NextRun{.delay = 10s, .spends_retry = true};
  report.finished_at = start;
  if (id == task_with_message) report.error_message = "message";
  if (id == task_with_result) report.result_json = "1";
  return report;
}

/// A report of each task, and among them one of an earlier attempt that is on record.
std::vector<Report> retried_reports() {
  std::vector<Report> reports{retried_report(1), retried_report(task_with_message)};
  reports.back().attempt = 1;
  reports.back().record = Record::on_record;
  for (TaskId id = 2; id <= last_task; ++id) reports.push_back(retried_report(id));
  return reports;
}

struct BatchWalk {
  using Fate = SettledReport::Fate;
  using Counts = std::array<int, last_task>;  // of each task

  ReportBatch batch{retried_reports()};
  std::array<SettledReport, last_task> reports{{{}, {.can_be_stripped = 1}, {.can_be_stripped = 2}, {}}};
  TimePoint now = start;
  std::string trace = {};
  bool has_failed = false;
  TimePoint sent_at{};
  std::vector<TaskId> not_taken = {};

  [[nodiscard]] SettledReport& of(TaskId id) { return reports.at(static_cast<std::size_t>(id - 1)); }

  [[nodiscard]] std::vector<TaskId> part() const {
    std::vector<TaskId> ids;
    for (const Report& report : batch.part()) ids.push_back(report.id);
    return ids;
  }

  /// `refused`: a bit for each report of the part.
  void send(unsigned refused) {
    const std::vector<TaskId> sent = part();
    sent_at = now;
    not_taken.clear();
    for (std::size_t i = 0; i < sent.size(); ++i) {
      if ((refused >> i & 1U) != 0) not_taken.push_back(sent[i]);
    }
    batch.on_sent({not_taken.begin(), not_taken.end()}, now);
    if (refused == 0) settle(sent, {});
  }

  void explain(const std::vector<Verdict>& verdicts) {
    const std::vector<TaskId> sent = part();
    batch.on_explained(verdicts, now);
    std::map<TaskId, Verdict> explained;
    for (std::size_t i = 0; i < verdicts.size(); ++i) explained[not_taken[i]] = verdicts[i];
    settle(sent, explained);
    not_taken.clear();
  }

  /// Every report of the part has its fate, and no other.
  void settle(const std::vector<TaskId>& sent, const std::map<TaskId, Verdict>& explained) {
    std::vector<ReportBatch::Taken> taken = batch.take_taken();
    for (const TaskId id : sent) {
      const auto verdict = explained.find(id);
      const std::optional<Verdict> why = verdict == explained.end() ? std::nullopt : std::optional{verdict->second};
      of(id).fate = fate_by(why);
      if (of(id).fate != Fate::taken) continue;
      const auto one =
          std::find_if(taken.begin(), taken.end(), [id](const auto& other) { return other.report->id == id; });
      REQUIRE(one != taken.end());
      require_is(*one->report, why);
      REQUIRE(one->sent_at == (why ? now : sent_at));
      taken.erase(one);
    }
    REQUIRE(taken.empty());
  }

  static Fate fate_by(std::optional<Verdict> why) {
    if (!why || why == Verdict::on_record || why == Verdict::committed) return Fate::taken;
    return why == Verdict::fenced ? Fate::fenced : Fate::again;
  }

  /// A report loses what the handler gave if PostgreSQL has refused it, and not otherwise.
  void require_is(const Report& report, std::optional<Verdict> why) {
    const SettledReport& known = of(report.id);
    const bool is_whole = report.result_json.empty() == (known.can_be_stripped != 2) &&
                          report.error_message.empty() == (known.can_be_stripped != 1);
    REQUIRE(is_whole);
    REQUIRE(report.transition.status == status_by(why));
  }

  static lifecycle::Status status_by(std::optional<Verdict> why) {
    if (why == Verdict::cancelled_first) return lifecycle::Status::cancelled;
    if (why == Verdict::expired_first) return lifecycle::Status::expired;
    return why == Verdict::committed ? lifecycle::Status::succeeded : lifecycle::Status::pending;
  }

  void fail() {
    const std::vector<TaskId> sent = part();
    batch.on_failure();
    REQUIRE(part() == sent);  // it is sent once more
    has_failed = true;
    not_taken.clear();
  }

  /// A refusal is found by halving, and its report then loses what the handler gave.
  void refuse() {
    const std::vector<TaskId> sent = part();
    const ReportBatch::Remedy remedy = batch.on_refused("no");
    has_failed = true;
    not_taken.clear();
    if (sent.size() > 1) {
      REQUIRE(remedy == ReportBatch::Remedy::halved);
      REQUIRE(part().size() < sent.size());
      return;
    }
    REQUIRE(part() == sent);
    SettledReport& alone = of(sent.front());
    const bool can_be_stripped = alone.can_be_stripped > 0;
    REQUIRE(remedy == (can_be_stripped ? ReportBatch::Remedy::stripped : ReportBatch::Remedy::none));
    if (can_be_stripped) --alone.can_be_stripped;
  }

  [[nodiscard]] Counts those_with(std::initializer_list<Fate> fates) const {
    Counts those{};
    for (std::size_t i = 0; i < those.size(); ++i) {
      those[i] = std::find(fates.begin(), fates.end(), reports[i].fate) != fates.end() ? 1 : 0;
    }
    return those;
  }

  /// How often each task is in a list.
  template <class List>
  static Counts times_in(const List& list) {
    Counts times{};
    for (const auto& one : list) ++times.at(static_cast<std::size_t>(one.id - 1));
    return times;
  }

  /// No report is lost, and none has two fates.
  void check() {
    REQUIRE(times_in(batch.unsettled()) == those_with({Fate::unsettled, Fate::again}));
    REQUIRE(batch.take_taken().empty());
    REQUIRE(batch.may_have_left_locks() == has_failed);
    const Counts to_send = those_with({Fate::unsettled});
    if (to_send == Counts{}) return check_end();
    REQUIRE(batch.state() == (not_taken.empty() ? ReportBatch::State::sending : ReportBatch::State::explaining));
    const Counts sent = times_in(batch.part());
    REQUIRE(sent != Counts{});
    for (std::size_t i = 0; i < sent.size(); ++i) REQUIRE(sent[i] <= to_send[i]);
  }

  void check_end() {
    REQUIRE(batch.state() == ReportBatch::State::ended);
    REQUIRE(times_in(batch.take_again()) == those_with({Fate::again}));
    REQUIRE(batch.unsettled().empty());
  }

  /// If the database takes what it is sent, each sending settles a report or more.
  void check_calm() const {
    BatchWalk calm = *this;
    if (calm.batch.state() == ReportBatch::State::explaining) calm.fail();  // its part is sent once more
    TaskId left = last_task;
    for (; calm.batch.state() != ReportBatch::State::ended; --left) {
      REQUIRE(left > 0);
      calm.send(0);
    }
  }

  /// Two batches of one key differ in nothing that follows.
  [[nodiscard]] std::vector<int> key() const {
    std::vector<int> key{has_failed ? 1 : 0};
    for (const SettledReport& one : reports) {
      key.push_back(static_cast<int>(one.fate));
      key.push_back(one.can_be_stripped);
    }
    for (const TaskId id : not_taken) key.push_back(static_cast<int>(id));
    key.push_back(0);
    if (batch.state() == ReportBatch::State::ended) return key;
    for (const Report& report : batch.part()) key.push_back(static_cast<int>(report.id));
    return key;
  }
};

class BatchWalker {
 public:
  explicit BatchWalker(BatchWalk first) { to_visit_.push_back(std::move(first)); }

  /// Gives how many steps there are.
  int walk() {
    for (; !to_visit_.empty(); to_visit_.pop_front()) {
      const BatchWalk& here = to_visit_.front();
      switch (here.batch.state()) {
        case ReportBatch::State::sending:
          send();
          break;
        case ReportBatch::State::explaining:
          explain({});
          break;
        case ReportBatch::State::ended:
          continue;
      }
      step('r', [](BatchWalk& next) { next.refuse(); });
      step('f', [](BatchWalk& next) { next.fail(); });
    }
    return steps_;
  }

 private:
  template <class Act>
  void step(char name, Act act) {
    BatchWalk next = to_visit_.front();
    next.trace += name;
    INFO(next.trace);
    next.now += 1s;
    act(next);
    next.check();
    ++steps_;
    if (!seen_.insert(next.key()).second) return;
    next.check_calm();
    to_visit_.push_back(std::move(next));
  }

  /// With each subset of the part refused.
  void send() {
    for (unsigned refused = 0; refused < 1U << to_visit_.front().batch.part().size(); ++refused) {
      step(static_cast<char>('0' + refused), [refused](BatchWalk& next) { next.send(refused); });
    }
  }

  /// With each combination of verdicts on the reports that were not taken.
  void explain(std::vector<Verdict> verdicts) {
    if (verdicts.size() == to_visit_.front().not_taken.size()) {
      return step('e', [&verdicts](BatchWalk& next) { next.explain(verdicts); });
    }
    for (const Verdict verdict : all_verdicts) {
      verdicts.push_back(verdict);
      explain(verdicts);
      verdicts.pop_back();
    }
  }

  std::deque<BatchWalk> to_visit_;
  std::set<std::vector<int>> seen_;
  int steps_ = 0;
};

}  // namespace

TEST_CASE(
    "in all sequences of answers, verdicts, refusals and failures each report of a batch has one fate, and the batch "
    "ends",
    "[one_thread]") {
  BatchWalk first;
  const std::vector<ReportBatch::Taken> on_record = first.batch.take_taken();
  REQUIRE(on_record.size() == 1);
  REQUIRE(on_record.front().report->attempt == 1);
  first.check();
  CHECK(BatchWalker{std::move(first)}.walk() > 5'000);
}
