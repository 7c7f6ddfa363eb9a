// `dogged dead`: tasks that failed for good.
#include "cli/commands/commands.hpp"

namespace dogged::cli {

void add_dead(CLI::App& app, Invocation& invocation) {
  CLI::App* dead = app.add_subcommand("dead", "Find out why tasks failed for good; replay, purge or move them");
  dead->require_subcommand(1);
  add_dead_top(*dead, invocation);
  add_dead_list(*dead, invocation);
  add_dead_show(*dead, invocation);
  add_dead_replay(*dead, invocation);
  add_dead_purge(*dead, invocation);
  add_dead_export(*dead, invocation);
  add_dead_import(*dead, invocation);
}

}  // namespace dogged::cli
