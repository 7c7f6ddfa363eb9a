// The subcommands, each in the file of its name.
#pragma once

#include "cli/invocation.hpp"

namespace dogged::cli {

void add_dev(CLI::App& app, Invocation& invocation);
void add_migrate(CLI::App& app, Invocation& invocation);
void add_enqueue(CLI::App& app, Invocation& invocation);
void add_emit(CLI::App& app, Invocation& invocation);
void add_tasks_list(CLI::App& tasks, Invocation& invocation);
void add_tasks_show(CLI::App& tasks, Invocation& invocation);
void add_tasks_cancel(CLI::App& tasks, Invocation& invocation);
void add_tasks_retry(CLI::App& tasks, Invocation& invocation);
void add_tasks_reschedule(CLI::App& tasks, Invocation& invocation);
void add_tasks_move(CLI::App& tasks, Invocation& invocation);
void add_tasks_wait(CLI::App& tasks, Invocation& invocation);
void add_tasks_waiting(CLI::App& tasks, Invocation& invocation);
void add_tasks_watch(CLI::App& tasks, Invocation& invocation);
void add_attempts(CLI::App& app, Invocation& invocation);
void add_dead(CLI::App& app, Invocation& invocation);
void add_dead_list(CLI::App& dead, Invocation& invocation);
void add_dead_show(CLI::App& dead, Invocation& invocation);
void add_dead_top(CLI::App& dead, Invocation& invocation);
void add_dead_replay(CLI::App& dead, Invocation& invocation);
void add_dead_purge(CLI::App& dead, Invocation& invocation);
void add_dead_export(CLI::App& dead, Invocation& invocation);
void add_dead_import(CLI::App& dead, Invocation& invocation);
void add_schedules(CLI::App& app, Invocation& invocation);
void add_queues(CLI::App& app, Invocation& invocation);
void add_circuits(CLI::App& app, Invocation& invocation);
void add_workers(CLI::App& app, Invocation& invocation);
void add_doctor(CLI::App& app, Invocation& invocation);
void add_maintain(CLI::App& app, Invocation& invocation);
void add_bench(CLI::App& app, Invocation& invocation);
void add_policy(CLI::App& app, Invocation& invocation);
void add_stats(CLI::App& app, Invocation& invocation);
void add_exporter(CLI::App& app, Invocation& invocation);
/// Of the whole tree: added last.
void add_help(CLI::App& app, Invocation& invocation);
void add_completion(CLI::App& app, Invocation& invocation);
void add_man_pages(CLI::App& app, Invocation& invocation);

}  // namespace dogged::cli
