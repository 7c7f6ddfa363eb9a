-- The queue's tables. The text names the schema "dogged."; `dogged migrate --schema NAME` replaces it by another name.
-- dogged creates the schema and the tables that record migrations before the first migration runs.

create type dogged.task_status as enum ('pending', 'running', 'succeeded', 'failed', 'discarded', 'cancelled', 'expired');
create type dogged.attempt_outcome as enum ('succeeded', 'failed', 'timed_out', 'cancelled', 'lost', 'interrupted',
                                     'snoozed');
comment on type dogged.task_status is
  'The state of a task: pending and running tasks are alive, all others have ended (docs/lifecycle.md).';
comment on type dogged.attempt_outcome is 'How an attempt ended (docs/lifecycle.md).';

comment on table dogged.schema_migrations is 'The applied migrations.';
comment on column dogged.schema_migrations.version is 'The number in the file''s name.';
comment on column dogged.schema_migrations.name is 'The file''s name.';
comment on column dogged.schema_migrations.checksum is 'SHA-256 of the file''s text: an applied migration must not change.';
comment on column dogged.schema_migrations.applied_at is 'When the migration was applied.';
comment on column dogged.schema_migrations.applied_by is 'The version of dogged that applied the migration.';
comment on table dogged.schema_files is
  'The applied files of the SQL interface (views, functions). A file that changes is applied again.';
comment on column dogged.schema_files.name is 'The file''s name.';
comment on column dogged.schema_files.checksum is 'SHA-256 of the file''s text.';
comment on column dogged.schema_files.applied_at is 'When the file was last applied.';
comment on column dogged.schema_files.applied_by is 'The version of dogged that applied the file.';
-- Limits that both SQL and workers enforce. One row.
create table dogged.settings (
  only_row                boolean primary key default true check (only_row),
  max_args_bytes          integer not null default 1048576 check (max_args_bytes between 1 and 104857600),
  max_result_bytes        integer not null default 1048576 check (max_result_bytes between 1 and 104857600),
  max_error_message_bytes integer not null default 65536 check (max_error_message_bytes between 256 and 1048576),
  partition_days_ahead    integer not null default 7 check (partition_days_ahead between 1 and 60),
  role_prefix             text,
  installation            uuid not null default gen_random_uuid()
);
insert into dogged.settings default values;
comment on table dogged.settings is
  'The limits of this installation, in one row. Update the row to change a limit. Workers read the row when they start.';
comment on column dogged.settings.only_row is 'Keeps the table to one row.';
comment on column dogged.settings.max_args_bytes is 'Enqueue refuses tasks whose args are longer than this as JSON text.';
comment on column dogged.settings.max_result_bytes is
  'A task whose result is longer than this as JSON text ends as failed with INVALID_RESULT.';
comment on column dogged.settings.max_error_message_bytes is 'Longer error messages are cut, and say so.';
comment on column dogged.settings.partition_days_ahead is 'For how many coming days partitions are created in advance.';
comment on column dogged.settings.role_prefix is
  'The beginning of the names of the roles that `dogged migrate --roles` made; null: no roles were made.';
comment on column dogged.settings.installation is
  'The id of this installation, drawn at random. A handler''s task is the parent of the tasks that the handler enqueues here, but '
  'not of tasks that the handler enqueues to another installation.';

-- A session locks a row of this table to do work that only one session may do at a time. Advisory locks would not do:
-- any session that may connect can work out their numbers and take one. Only a login that may change a row can lock
-- that row.
create table dogged.locks (
  name text primary key
);
insert into dogged.locks (name) values ('partitions'), ('import');
comment on table dogged.locks is
  'One row for each kind of work that only one session may do at a time. A function of dogged locks the row until its transaction '
  'ends. `dogged doctor` names the sessions that have held a lock for long.';
comment on column dogged.locks.name is 'partitions: creating and dropping partitions, retention. import: importing dead letters.';

create table dogged.queues (
  name       text primary key
             check (octet_length(name) <= 128 and name ~ '^[A-Za-z0-9][A-Za-z0-9._:/-]*$'),
  created_at timestamptz not null default now()
);
insert into dogged.queues (name) values ('default');
comment on table dogged.queues is
  'The queues that tasks may be enqueued to. A misspelt name is thus an error, and not a task that no worker runs. Workers add the '
  'queues of their tasks.';
comment on column dogged.queues.name is 'Up to 128 of A-Z a-z 0-9 . _ : / - beginning with a letter or a digit.';
comment on column dogged.queues.created_at is 'When the queue was added.';

-- Names that other programs show in logs and tables must not forge a line there. The characters are those of is_forging
-- in src/text/escaped.hpp.
create function dogged.is_one_line(value text) returns boolean
language sql immutable parallel safe return
  value !~ '[\u0001-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]';
comment on function dogged.is_one_line(text) is
  'Internal: whether a text has no control character, no line separator and nothing that turns its direction.';

create table dogged.workers (
  id           bigint generated always as identity primary key,
  name         text not null check (octet_length(name) between 1 and 128 and dogged.is_one_line(name)),
  host         text not null check (octet_length(host) <= 255 and dogged.is_one_line(host)),
  pid          integer not null,
  version      text not null check (octet_length(version) <= 128 and dogged.is_one_line(version)),
  queues       jsonb not null,
  task_names   text[] not null,
  args_versions jsonb,
  started_at   timestamptz not null default clock_timestamp(),
  heartbeat_at timestamptz not null default clock_timestamp(),
  stop_began_at timestamptz,
  stopped_at   timestamptz,
  asleep       boolean not null default false
);
comment on table dogged.workers is
  'One row for each run of a worker process. The row''s id is the lease under which the worker holds tasks. A worker''s report '
  'counts only if the task still names that id.';
comment on column dogged.workers.id is 'The lease.';
comment on column dogged.workers.name is
  'The worker''s --name, else its host and process. No two workers have the same name at the same time.';
comment on column dogged.workers.host is 'The host on which the worker runs.';
comment on column dogged.workers.pid is 'The worker''s process id on that host.';
comment on column dogged.workers.version is 'The version of dogged that the worker was built with.';
comment on column dogged.workers.queues is 'Concurrency by queue name.';
comment on column dogged.workers.task_names is 'The names of the tasks that the worker knows. The worker never claims other tasks.';
comment on column dogged.workers.args_versions is
  'The args version that the worker knows, by task name, where that version is not 1; null: none. The worker claims no task of a '
  'later version.';
comment on column dogged.workers.started_at is 'When this run began.';
comment on column dogged.workers.heartbeat_at is 'When the worker last said that it lives. Set when it starts.';
comment on column dogged.workers.stop_began_at is
  'Since when the worker claims nothing more, because it stops: its running tasks may finish. Null until then, or if it died.';
comment on column dogged.workers.stopped_at is 'When the worker stopped in order; null while the worker runs, or if it died.';
comment on column dogged.workers.asleep is
  'Whether the worker waits for a notification. Enqueue sends one only where this is true.';
-- Every enqueue transaction looks up the sleeping workers, and only those.
create index workers_asleep on dogged.workers (id) where asleep;

-- The declarations of TASK_REGISTER, so that SQL users, the command line and other workers know the policy of tasks
-- that they did not compile in.
create table dogged.task_definitions (
  name           text primary key check (octet_length(name) <= 128 and name ~ '^[A-Za-z0-9][A-Za-z0-9._:/-]*$'),
  queue          text not null check (octet_length(queue) <= 128 and queue ~ '^[A-Za-z0-9][A-Za-z0-9._:/-]*$'),
  retry_policy   jsonb not null,
  auto_retry_for text[] not null,
  timeout_ms     bigint,
  retry_lost     boolean not null,
  dead_letter    boolean not null,
  max_losses     integer not null,
  version        text not null check (octet_length(version) <= 128 and dogged.is_one_line(version)),
  retry_sources  jsonb not null default '{}',
  redact         text[] not null default '{}',
  updated_at     timestamptz not null default now(),
  args_version   smallint not null default 1,
  max_snoozes    integer not null default 1000
);
comment on table dogged.task_definitions is
  'The declarations that workers made with TASK_REGISTER, as changed by the workers'' configuration. A worker publishes its '
  'declarations when it starts; the last one wins.';
comment on column dogged.task_definitions.name is 'The task''s name.';
comment on column dogged.task_definitions.queue is 'The queue of the task if the caller of enqueue names none.';
comment on column dogged.task_definitions.retry_policy is
  'The retry policy, as `dogged policy show` and dogged::policy_from_json read it.';
comment on column dogged.task_definitions.auto_retry_for is 'Error codes that are retried; * lists all.';
comment on column dogged.task_definitions.timeout_ms is 'How long an attempt may take; null: no deadline.';
comment on column dogged.task_definitions.retry_lost is 'Whether the task runs again after its worker died.';
comment on column dogged.task_definitions.max_losses is 'The loss with this number ends the task.';
comment on column dogged.task_definitions.max_snoozes is
  'How often a task may snooze. A further snooze ends the task with SNOOZED_TOO_OFTEN.';
comment on column dogged.task_definitions.dead_letter is
  'Whether a task that fails for good is kept as a dead letter (failed); else it is discarded.';
comment on column dogged.task_definitions.version is 'The version of dogged of the worker that published the declaration.';
comment on column dogged.task_definitions.retry_sources is
  'The sources of the retry settings, as {"max_attempts": "environment RETRY_MAX_ATTEMPTS", "policy_type": "TASK_REGISTER"}: the '
  'program, a preset, the file of --retry-config, or the environment of the worker that published the declaration.';
comment on column dogged.task_definitions.redact is
  'JSON pointers (RFC 6901) into args and result. The values that they point to are shown as "[redacted]".';
comment on column dogged.task_definitions.updated_at is 'When a worker last published the declaration.';
comment on column dogged.task_definitions.args_version is 'The version of the args in the task''s key (KeyOptions::version).';

create sequence dogged.tasks_id_seq as bigint;
comment on sequence dogged.tasks_id_seq is
  'The ids of tasks, and the ready positions of tasks that became ready after their enqueue.';

-- One logical table with three kinds of partitions. `live` is small and hot. Only `live` sees updates, so its indexes
-- and vacuum do not grow with the history. `failed` holds the dead letters, `done` all other ended tasks. `failed` and
-- `done` are partitioned by day, and retention drops whole days.
create table dogged.tasks (
  id            bigint not null default nextval('dogged.tasks_id_seq'),
  status        dogged.task_status not null default 'pending',
  queue         text not null,
  name          text not null,
  priority      smallint not null default 0,
  args          jsonb not null,
  enqueued_at   timestamptz not null default now(),
  run_at        timestamptz not null default now(),
  deferred      boolean not null default false,
  next_retry_at timestamptz,
  attempt       integer not null default 0,
  retry_count   integer not null default 0,
  losses        integer not null default 0,
  worker_id     bigint,
  claimed_at    timestamptz,
  finished_at   timestamptz,
  result        jsonb,
  error_code    text,
  error_message text,
  trace_context text,
  ready_position bigint,
  expires_at    timestamptz check (isfinite(expires_at)),
  tags          text[],
  parent_id     bigint,
  args_version  smallint,
  snoozes       integer,
  unique_key    text
) partition by list (status);
alter sequence dogged.tasks_id_seq owned by dogged.tasks.id;

comment on table dogged.tasks is 'Every task, from enqueue to its end.';
comment on column dogged.tasks.id is 'The task''s id, given out by enqueue, for the whole life of the task.';
comment on column dogged.tasks.status is 'The task''s status, which decides in which partition the task is stored.';
comment on column dogged.tasks.queue is 'The name of the task''s queue.';
comment on column dogged.tasks.name is 'The task''s name, which workers declare with TASK_REGISTER.';
comment on column dogged.tasks.priority is
  'Lower priorities run first. Among equal priorities, the task that became ready first runs first.';
comment on column dogged.tasks.args is
  'The handler''s args, as JSON. Show args to people only through dogged.redacted(name, args).';
comment on column dogged.tasks.enqueued_at is 'When the producer''s transaction began.';
comment on column dogged.tasks.run_at is 'The first attempt does not begin before this time.';
comment on column dogged.tasks.deferred is
  'True while a pending task waits for run_at or next_retry_at. The task is then in the index of waiting tasks, and not in the '
  'index of ready tasks. A worker sets this to false when the task is due.';
comment on column dogged.tasks.next_retry_at is
  'The next attempt does not begin before this time. Set for a retry, for a task that snoozes, or for a task that was deferred '
  'because its circuit is open.';
comment on column dogged.tasks.attempt is 'The number of attempts begun. While the task runs, the number of the current attempt.';
comment on column dogged.tasks.retry_count is 'Retries spent; a lost, interrupted or snoozed attempt spends none.';
comment on column dogged.tasks.losses is 'Attempts that ended because their worker died.';
comment on column dogged.tasks.worker_id is 'The worker that holds the running task, or that ran the task last: workers.id.';
comment on column dogged.tasks.claimed_at is 'When a worker last claimed the task.';
comment on column dogged.tasks.finished_at is 'When the task ended; null while the task is pending or running.';
comment on column dogged.tasks.result is 'The handler''s return value, as JSON; null unless the task succeeded.';
comment on column dogged.tasks.error_code is 'The error code of the last failed attempt.';
comment on column dogged.tasks.error_message is 'The error message of the last failed attempt.';
comment on column dogged.tasks.trace_context is 'The trace context, as the producer gave it; copied to attempts that are no root of a trace.';
comment on column dogged.tasks.ready_position is
  'The task''s place among the ready tasks of its queue and priority; null: its id is its place. A task that fell due has a number '
  'from the sequence of the ids. A task that was released to run again at once has a number before all of those.';
comment on column dogged.tasks.expires_at is
  'No attempt begins after this time. A task that is still pending then ends as expired. Null: the task does not expire.';
comment on column dogged.tasks.tags is 'Words that the producer gave the task, for people to find the task by; null: none.';
comment on column dogged.tasks.parent_id is
  'The parent: the task of the handler that enqueued this one, or the task that the producer named. Null: none. Retention may have '
  'dropped the parent.';
comment on column dogged.tasks.snoozes is
  'Attempts that ended because the handler snoozed, since the task was enqueued or replayed; null: none.';
comment on column dogged.tasks.unique_key is
  'The key of a unique task (dogged.unique_keys), as the producer gave it, or the hash of the args that it covers; null: the task is '
  'not unique.';
comment on column dogged.tasks.args_version is
  'The version of the args, as the producer''s key or call named it; null: 1. Only a worker that knows this version or a later one '
  'runs the task.';

-- A claim changes no indexed column, and each page has room for a second version of its rows, so claims are HOT
-- updates. For that reason no index tells running tasks from pending ones. The index holds the hash of the queue's
-- name, because hashes are compared faster (docs/decisions/0004). Two names may have the same hash, so every query
-- compares the name as well.
create table dogged.tasks_live partition of dogged.tasks (primary key (id)) for values in ('pending', 'running')
  with (fillfactor = 45, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000,
        autovacuum_vacuum_cost_delay = 0);
-- The place of a ready task in its queue: the lowest place runs first. Each priority has 2^47 places. Ids and positions
-- count up from 1. Positions of released tasks count up from 1 - 2^46 (schema/place_in_front.sql), so these tasks come
-- before all others of their priority. Priorities do not mix before the sequence of the ids reaches 2^46, after 2,230
-- years at 1,000 tasks a second. PostgreSQL inlines the function: an index entry or a comparison does not call it.
create function dogged.place(priority smallint, ready_position bigint, id bigint) returns bigint
language sql immutable parallel safe return priority * 140737488355328 + coalesce(ready_position, id);
comment on function dogged.place(smallint, bigint, bigint) is
  'Internal: the place of a ready task in its queue; the lowest place runs first.';
create index tasks_live_ready on dogged.tasks_live (hashtext(queue), dogged.place(priority, ready_position, id))
  where not deferred;
-- Waiting tasks have an index of their own. Otherwise every claim would walk over them, for example over a million
-- before the ready ones.
create index tasks_live_waiting on dogged.tasks_live (hashtext(queue), (coalesce(next_retry_at, run_at))) where deferred;
-- Finds tasks that no worker starts in time, whether or not their queue is served. Tasks without expires_at have no
-- entry.
create index tasks_live_expiring on dogged.tasks_live (expires_at) where expires_at is not null;
-- Finds the children of a task without a scan. A task without a parent has no entry; no statement changes a parent.
create index tasks_live_children on dogged.tasks_live (parent_id, id) where parent_id is not null;
comment on table dogged.tasks_live is 'The pending and running tasks: small and hot, whatever the history.';

create table dogged.tasks_failed partition of dogged.tasks for values in ('failed') partition by range (finished_at);
create index tasks_failed_id on dogged.tasks_failed (id);
create index tasks_failed_finished_at on dogged.tasks_failed (finished_at, id);
create index tasks_failed_children on dogged.tasks_failed (parent_id, id) where parent_id is not null;
-- The default partitions take tasks whose day has no partition yet, so that no completion fails for lack of one.
create table dogged.tasks_failed_default partition of dogged.tasks_failed default;
comment on table dogged.tasks_failed is 'The dead letters, by the day they failed (UTC).';
comment on table dogged.tasks_failed_default is
  'For days that have no partition yet; dogged.make_partitions moves its rows.';

create table dogged.tasks_done partition of dogged.tasks for values in ('succeeded', 'discarded', 'cancelled', 'expired')
  partition by range (finished_at);
create index tasks_done_id on dogged.tasks_done (id);
-- For queries about the last minutes. Rows are stored in the order in which they ended, so a summary of each block is
-- enough.
create index tasks_done_finished_at on dogged.tasks_done using brin (finished_at);
create index tasks_done_children on dogged.tasks_done (parent_id, id) where parent_id is not null;
create table dogged.tasks_done_default partition of dogged.tasks_done default;
comment on table dogged.tasks_done is
  'The tasks that succeeded, were discarded, cancelled or expired, by the day they ended (UTC).';
comment on table dogged.tasks_done_default is
  'For days that have no partition yet; dogged.make_partitions moves its rows.';

-- Lets a client that did not receive the answer to a call ask whether the call took effect.
create table dogged.producer_calls (
  producer  uuid primary key,
  call      bigint not null,
  task_ids  int8multirange not null,
  answer    text,
  called_at timestamptz not null default now()
) with (fillfactor = 50);
comment on table dogged.producer_calls is
  'The last call of each connected client (dogged::Client), with the ids of the tasks that the call enqueued, or with its answer. '
  'Producer and call are the idempotency key of a call that is repeated because its answer was lost. Rows are removed after two '
  'days.';
comment on column dogged.producer_calls.producer is 'A random id, which the client draws when it is created.';
comment on column dogged.producer_calls.answer is 'The answer of a cancel, replay or reschedule; null after an enqueue.';
comment on column dogged.producer_calls.call is 'The number of the producer''s call, counted from 1.';
comment on column dogged.producer_calls.task_ids is
  'The ids of the tasks that the call enqueued: the answer, if the client asks again. The ids of a thousand tasks are mostly one '
  'range, where an array would be compressed.';
comment on column dogged.producer_calls.called_at is 'When the call was made. The row is removed by this time.';
