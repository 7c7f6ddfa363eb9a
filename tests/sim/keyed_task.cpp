// See keyed_task.hpp.
#include "keyed_task.hpp"

#include <array>
#include <string>
#include <utility>

namespace dogged::sim {
namespace {

using namespace std::chrono_literals;

struct Key {
  const char* name;
  KeyRule rule;
};
const std::array keys{
    Key{"pending", {While::pending, Conflict::keep}},
    Key{"pending, replaced", {While::pending, Conflict::replace}},
    Key{"debounced", {While::pending, Conflict::debounce, {}, 1'500ms}},
    Key{"live", {While::live, Conflict::keep}},
    Key{"live, refused", {While::live, Conflict::refuse}},
    Key{"live, rescheduled", {While::live, Conflict::reschedule}},
    Key{"kept", {While::kept, Conflict::keep}},
    Key{"live for a second", {While::live, Conflict::keep, 1s}},
};

}  // namespace

Database::NewTask any_keyed_task(const Scheduler& scheduler, Random& random, std::int64_t number) {
  const Key& key = keys[static_cast<std::size_t>(random.pick(0, static_cast<std::int64_t>(keys.size()) - 1))];
  Database::NewTask task{.delay = milliseconds{random.chance(50) ? random.pick(1, 600) : 0}, .key = key.name};
  if (key.rule.while_ == While::kept) task.key += " " + std::to_string(number / 16);
  task.rule = key.rule;
  const bool merges = scheduler.stream(std::uint64_t{1} << 33, static_cast<std::uint64_t>(number)).chance(50);
  if (merges) task.rule.conflict = merging(task.rule.conflict);
  if (random.chance(30)) task.expires_in = task.delay + milliseconds{random.pick(1, 1'500)};
  task.args = {number};
  return task;
}

}  // namespace dogged::sim
