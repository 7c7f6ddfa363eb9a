// See script.hpp.
#include "script.hpp"

#include <cstdint>
#include <utility>

namespace dogged::sim {
namespace {

using Item = ScriptItem::Kind;

/// `waits_for_event`: an item so far does.
ScriptItem any_item(Random& random, TaskId id, std::int64_t number, bool waits_for_event) {
  const std::string name = "step:" + std::to_string(number);
  switch (random.pick(0, 6)) {
    case 0:
      return {Item::charge, name};
    case 1:
      return {Item::sleep, name, milliseconds{random.pick(1, 1'500)}};
    case 2:
    case 3:
      if (!waits_for_event) return {Item::event, event_for(id), milliseconds{random.pick(100, 2'500)}};
      break;
    case 4:
      return {.kind = Item::loop, .name = name, .rows = random.pick(2, 10)};
    default:
      break;
  }
  return {Item::step, name};
}

}  // namespace

std::string event_for(TaskId id) { return "event:" + std::to_string(id / 2); }

Script script_of(const Scheduler& scheduler, Kind kind, TaskId id) {
  if (kind == Kind::waiting) {
    return {{Item::step, "before"}, {Item::event, event_for(id), std::chrono::hours{24}}, {Item::charge, "after"}};
  }
  Random random = scheduler.stream(std::uint64_t{1} << 17, static_cast<std::uint64_t>(id));
  Script script;
  bool waits_for_event = false;
  const std::int64_t items = random.pick(2, 4);
  for (std::int64_t number = 1; number <= items; ++number) {
    ScriptItem item = any_item(random, id, number, waits_for_event);
    waits_for_event = waits_for_event || item.kind == Item::event;
    script.push_back(std::move(item));
  }
  return script;
}

}  // namespace dogged::sim
