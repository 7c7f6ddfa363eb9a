-- The queue's tables. The text names the schema "dogged."; `dogged migrate --schema NAME` replaces it by another name.
-- dogged creates the schema and the tables that record migrations before the first migration runs.

create type dogged.task_status as enum ('pending', 'running', 'succeeded', 'failed', 'discarded', 'cancelled', 'expired');
create type dogged.attempt_outcome as enum ('succeeded', 'failed', 'timed_out', 'cancelled', 'lost', 'interrupted');
comment on type dogged.task_status is
  'What has become of a task: pending and running are alive, the others have ended (docs/lifecycle.md).';
comment on type dogged.attempt_outcome is 'What an attempt came to (docs/lifecycle.md).';

comment on table dogged.schema_migrations is 'The migrations that were applied.';
comment on column dogged.schema_migrations.version is 'The number in the file''s name.';
comment on column dogged.schema_migrations.name is 'The file''s name.';
comment on column dogged.schema_migrations.checksum is 'SHA-256 of its text: one that was applied must not change.';
comment on column dogged.schema_migrations.applied_at is 'When.';
comment on column dogged.schema_migrations.applied_by is 'The version of dogged that did it.';
comment on table dogged.schema_files is
  'The files of the SQL interface (views, functions) that were applied; again when they change.';
comment on column dogged.schema_files.name is 'The file''s name.';
comment on column dogged.schema_files.checksum is 'SHA-256 of its text.';
comment on column dogged.schema_files.applied_at is 'When it was applied last.';
comment on column dogged.schema_files.applied_by is 'The version of dogged that did it.';
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
comment on table dogged.settings is 'Limits of this queue, one row; update it to change them. Workers read it when they start.';
comment on column dogged.settings.only_row is 'Keeps it to one row.';
comment on column dogged.settings.max_args_bytes is 'Tasks whose args are longer, as JSON text, are refused at enqueue.';
comment on column dogged.settings.max_result_bytes is 'A result that is longer, as JSON text, ends its task as failed with INVALID_RESULT.';
comment on column dogged.settings.max_error_message_bytes is 'Longer error messages are cut, and say so.';
comment on column dogged.settings.partition_days_ahead is 'For how many coming days partitions are kept ready.';
comment on column dogged.settings.role_prefix is
  'What the names of the roles begin with that `dogged migrate --roles` made; null: it has made none.';
comment on column dogged.settings.installation is
  'Which queue this is, drawn at random: a handler''s task is the parent of what the handler enqueues here, and of nothing that it '
  'enqueues to another queue.';

-- A session locks a row of this table to do work that only one session may do at a time. These are not advisory locks:
-- their numbers can be worked out, and any session that may connect can take one. Only a login that may change a row
-- can lock it.
create table dogged.locks (
  name text primary key
);
insert into dogged.locks (name) values ('partitions'), ('import');
comment on table dogged.locks is
  'What only one session may do at a time: a function of dogged locks the row until its transaction ends. `dogged doctor` names who has '
  'locked one for long.';
comment on column dogged.locks.name is 'partitions: making and dropping them, retention. import: importing dead letters.';

create table dogged.queues (
  name       text primary key
             check (octet_length(name) <= 128 and name ~ '^[A-Za-z0-9][A-Za-z0-9._:/-]*$'),
  created_at timestamptz not null default now()
);
insert into dogged.queues (name) values ('default');
comment on table dogged.queues is
  'The queues that tasks may be enqueued to, so that a misspelt name is an error and not a task that nobody runs. '
  'Workers add those that they serve.';
comment on column dogged.queues.name is 'Up to 128 of A-Z a-z 0-9 . _ : / - beginning with a letter or a digit.';
comment on column dogged.queues.created_at is 'When it was added.';

-- Names that other programs show in logs and tables must not forge a line there. The characters are those of is_forging
-- in src/retry/escaped.hpp.
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
  stopped_at   timestamptz,
  asleep       boolean not null default false
);
comment on table dogged.workers is
  'A row for each run of a worker process. Its id is the lease under which the worker holds tasks: what a worker '
  'reports is taken only where the task still names that id.';
comment on column dogged.workers.id is 'The lease.';
comment on column dogged.workers.name is 'By --name, else host and process; no two at a time have the same.';
comment on column dogged.workers.host is 'Where it runs.';
comment on column dogged.workers.pid is 'Its process on that host.';
comment on column dogged.workers.version is 'Of dogged, which it was built with.';
comment on column dogged.workers.queues is 'Concurrency by queue name.';
comment on column dogged.workers.task_names is 'The tasks that it knows; it never claims others.';
comment on column dogged.workers.args_versions is
  'The version of the args that it knows, by task name, where that is not 1; null: none. It claims no task of a later version.';
comment on column dogged.workers.started_at is 'When this run began.';
comment on column dogged.workers.heartbeat_at is 'When the worker last said that it lives. Set when it starts.';
comment on column dogged.workers.stopped_at is 'When it ended in order; null while it runs, or if it died.';
comment on column dogged.workers.asleep is 'It waits for a notification: enqueue sends one only where this is true.';
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
  args_version   smallint not null default 1
);
comment on table dogged.task_definitions is
  'What workers declared with TASK_REGISTER, as their configuration has changed it, published when they start; the last one wins.';
comment on column dogged.task_definitions.name is 'Of the task.';
comment on column dogged.task_definitions.queue is 'Where enqueue puts the task if the caller names no queue.';
comment on column dogged.task_definitions.retry_policy is 'As `dogged policy show` and dogged::policy_from_json read it.';
comment on column dogged.task_definitions.auto_retry_for is 'Error codes that are retried; * lists all.';
comment on column dogged.task_definitions.timeout_ms is 'How long an attempt may take; null: no deadline.';
comment on column dogged.task_definitions.retry_lost is 'Whether it runs again after its worker died.';
comment on column dogged.task_definitions.max_losses is 'The loss with this number ends it.';
comment on column dogged.task_definitions.dead_letter is
  'Whether a task that fails for good is kept as a dead letter (failed); else it is discarded.';
comment on column dogged.task_definitions.version is 'Of the worker that published it.';
comment on column dogged.task_definitions.retry_sources is
  'Where its retry settings come from, as {"max_attempts": "environment RETRY_MAX_ATTEMPTS", "policy_type": "TASK_REGISTER"}: '
  'the program, a preset, --retry-config''s file or the environment of the worker that published it.';
comment on column dogged.task_definitions.redact is
  'JSON pointers (RFC 6901) into args and result; what they name is shown as "[redacted]".';
comment on column dogged.task_definitions.updated_at is 'When a worker published it last.';
comment on column dogged.task_definitions.args_version is 'The version of the args in the task''s key (KeyOptions::version).';

create sequence dogged.tasks_id_seq as bigint;
comment on sequence dogged.tasks_id_seq is
  'Ids of tasks, and the places of those that became ready later than they were enqueued.';

-- One logical table with three kinds of partitions. `live` is small and hot. It alone sees updates, so its indexes and
-- vacuum do not grow with the history. `failed` holds the dead letters, `done` the rest. Both are partitioned by day,
-- and retention drops whole days.
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
  args_version  smallint
) partition by list (status);
alter sequence dogged.tasks_id_seq owned by dogged.tasks.id;

comment on table dogged.tasks is 'Every task, from enqueue to its end.';
comment on column dogged.tasks.id is 'Given by enqueue, for the whole life of the task.';
comment on column dogged.tasks.status is 'What has become of it; decides in which partition it stands.';
comment on column dogged.tasks.queue is 'The name of its queue.';
comment on column dogged.tasks.name is 'What runs: a name that workers declare with TASK_REGISTER.';
comment on column dogged.tasks.priority is 'Lower runs first; then what became ready first.';
comment on column dogged.tasks.args is
  'What its handler is given, as JSON. Show it to people by dogged.redacted(name, args).';
comment on column dogged.tasks.enqueued_at is 'When its producer''s transaction began.';
comment on column dogged.tasks.run_at is 'Not before this time for the first run.';
comment on column dogged.tasks.deferred is
  'True while a pending task waits for run_at or next_retry_at: it then stands in the index of waiting tasks and not '
  'in the ready one. A worker makes it false when the time has come.';
comment on column dogged.tasks.next_retry_at is 'Not before this time for the next run: a retry, or one that was put off because its circuit is open.';
comment on column dogged.tasks.attempt is 'Attempts begun. While running, the number of the current one.';
comment on column dogged.tasks.retry_count is 'Retries spent; a lost or interrupted attempt spends none.';
comment on column dogged.tasks.losses is 'Attempts that ended because their worker died.';
comment on column dogged.tasks.worker_id is 'Who holds it while it runs, and who ran it last: workers.id.';
comment on column dogged.tasks.claimed_at is 'When a worker took it last.';
comment on column dogged.tasks.finished_at is 'When it ended; null while it is pending or running.';
comment on column dogged.tasks.result is 'What its handler returned, as JSON; null unless it succeeded.';
comment on column dogged.tasks.error_code is 'Of the last attempt that failed.';
comment on column dogged.tasks.error_message is 'The same in words.';
comment on column dogged.tasks.trace_context is 'As the producer gave it, copied to every attempt.';
comment on column dogged.tasks.ready_position is
  'Its place among the ready tasks of its queue and priority; null: its id. A number from the sequence of the ids when it '
  'fell due; one before all of them when it was given back to run again at once.';
comment on column dogged.tasks.expires_at is
  'No attempt begins after this time: a task that is still pending then ends as expired. Null: it does not expire.';
comment on column dogged.tasks.tags is 'Words that its producer gave it, for people to find it by; null: none.';
comment on column dogged.tasks.parent_id is
  'The parent: the task of the handler that enqueued this one, or the task that the producer named. Null: none. Retention may have '
  'dropped the parent.';
comment on column dogged.tasks.args_version is
  'The version of its args, as its producer''s key or call named it; null: 1. Only a worker that knows this version, or a later one, '
  'runs it.';

-- A claim changes no indexed column, and each page has room for a second version of its rows, so claims are HOT
-- updates. For that reason no index tells running tasks from pending ones. The index holds the hash of the queue's
-- name, because hashes are compared faster (docs/decisions/0004). Two names may have the same hash, so every query
-- compares the name as well.
create table dogged.tasks_live partition of dogged.tasks (primary key (id)) for values in ('pending', 'running')
  with (fillfactor = 45, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000,
        autovacuum_vacuum_cost_delay = 0);
-- Where a ready task stands in its queue: the lowest place runs first. Each priority has 2^47 places. Ids and positions
-- count up from 1. Those of released tasks count up from 1 - 2^46 (schema/place_in_front.sql), so they come before all
-- others of their priority. Priorities do not mix before the sequence of the ids reaches 2^46, which are 2,230 years
-- at 1,000 tasks a second. PostgreSQL inlines the function: an index entry or a comparison does not call it.
create function dogged.place(priority smallint, ready_position bigint, id bigint) returns bigint
language sql immutable parallel safe return priority * 140737488355328 + coalesce(ready_position, id);
comment on function dogged.place(smallint, bigint, bigint) is
  'Internal: where a ready task stands in its queue; the lowest place runs first.';
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
  'The last call of each connected client (dogged::Client), with the ids of the tasks that it enqueued, or its answer. Producer and '
  'call are the idempotency key of a call that is repeated because its answer was lost. Rows of two days ago are removed.';
comment on column dogged.producer_calls.producer is 'Drawn at random by the client when it is made.';
comment on column dogged.producer_calls.answer is
  'What a cancel, replay or reschedule has answered; null after an enqueue.';
comment on column dogged.producer_calls.call is 'Its calls, counted from 1.';
comment on column dogged.producer_calls.task_ids is
  'What it enqueued: the answer, should it be asked for again. Of a thousand tasks mostly one range, where an array would be compressed.';
comment on column dogged.producer_calls.called_at is 'When; the age by which rows are removed.';
