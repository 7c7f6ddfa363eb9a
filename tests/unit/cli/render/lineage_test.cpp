// The drawing of a task's relatives in `dogged tasks show`.
#include "cli/render/lineage.hpp"

#include "support/catch.hpp"
#include "support/styles.hpp"

using namespace dogged;
using namespace dogged::cli;
using dogged::test::ascii;
using dogged::test::plain;
using lifecycle::Status;

namespace {

Relative relative(std::int64_t id, const char* name, Status status, std::int64_t parent = 0,
                  std::int64_t children = 0) {
  return {.id = id, .parent_id = parent, .name = name, .status = status, .children = children};
}

TaskHistory family() {
  TaskHistory history;
  history.task.id = 42;
  history.lineage.ancestors = {relative(41, "order.import", Status::succeeded), {.id = 7}};
  history.lineage.children = 12;
  history.lineage.descendants = {relative(43, "mail.send", Status::succeeded, 42, 1),
                                 relative(44, "mail.send", Status::pending, 42),
                                 relative(47, "mail.log", Status::failed, 43)};
  return history;
}

}  // namespace

TEST_CASE("a task without relatives has no family to draw") { CHECK(render_lineage(TaskHistory{}, plain).empty()); }

TEST_CASE("the tasks above are drawn, and the tree below, with how many more there are") {
  CHECK(render_lineage(family(), plain) ==
        "  parent     41 order.import  succeeded\n"
        "             of 7, which is not kept any more\n"
        "  children   12\n"
        "             ├─ 43 mail.send  succeeded\n"
        "             │  └─ 47 mail.log  failed\n"
        "             ├─ 44 mail.send  pending\n"
        "             └─ 10 more: dogged tasks list --parent 42\n");
}

TEST_CASE("a family is drawn in ASCII where the terminal shows no more, and the last branch ends the tree") {
  TaskHistory history = family();
  history.lineage.ancestors.clear();
  history.lineage.children = 2;
  CHECK(render_lineage(history, ascii) ==
        "  children   2\n"
        "             |- 43 mail.send  succeeded\n"
        "             |  `- 47 mail.log  failed\n"
        "             `- 44 mail.send  pending\n");
}

TEST_CASE("children that are not listed at all are counted") {
  TaskHistory history;
  history.task.id = 42;
  history.lineage.children = 3;
  CHECK(render_lineage(history, plain) ==
        "  children   3\n"
        "             └─ 3 more: dogged tasks list --parent 42\n");
}
