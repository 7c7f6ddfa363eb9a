-- Durable steps: the parts of a task that later attempts do not repeat (Context::step). A step is recorded when it ends,
-- while its attempt still runs. Steps are history like attempts: rows are inserted and never change, and retention drops
-- partitions of whole days.

-- Without check constraints: PostgreSQL makes them ready anew for each insert, which took a seventh of the time of a step
-- (docs/decisions/0017). The worker checks names and results before it sends them.
create table dogged.task_steps (
  task_id     bigint not null,
  name        text,
  attempt     integer not null,
  task_name   text not null,
  worker_id   bigint,
  started_at  timestamptz not null,
  finished_at timestamptz not null,
  result      jsonb,
  waits_for   text
) partition by range (finished_at);
create index task_steps_task on dogged.task_steps (task_id, name);
create table dogged.task_steps_default partition of dogged.task_steps default;

comment on table dogged.task_steps is
  'One row for each step of a task that has ended (Context::step), and one for each replay after which steps run again: '
  'append-only. UPDATE, DELETE and TRUNCATE are refused; retention drops partitions of whole days. task_steps_overview shows which '
  'steps count.';
comment on column dogged.task_steps.task_id is 'The task: tasks.id.';
comment on column dogged.task_steps.name is
  'The name that the handler gave the step. Null: the task was replayed, and steps of attempts up to this one do not count.';
comment on column dogged.task_steps.attempt is
  'The attempt that ran the step. Of several attempts with a step of this name, the record of the latest counts.';
comment on column dogged.task_steps.task_name is 'The task''s name, so that queries on many steps need no join.';
comment on column dogged.task_steps.worker_id is 'The worker that ran the attempt: workers.id.';
comment on column dogged.task_steps.started_at is 'When the step began; of a replay, when it was.';
comment on column dogged.task_steps.finished_at is 'When the step ended; of a replay, when it was. Never before the task was enqueued: statements read the days since then alone, and '
  'a clock that was set back must not make them miss a step.';
comment on column dogged.task_steps.result is
  'What the step gave, as JSON. Show results to people only through task_steps_overview.';
comment on column dogged.task_steps.waits_for is
  'Of a wait that is over: sleep (Context::sleep) or event (Context::wait_event). Null: a step, or a replay.';
comment on table dogged.task_steps_default is
  'For days that have no partition yet; dogged.make_partitions moves its rows.';

create trigger refuse_change before update or delete on dogged.task_steps
  for each row execute function dogged.refuse_change_of_history();
create trigger refuse_truncate before truncate on dogged.task_steps
  execute function dogged.refuse_change_of_history();
create trigger refuse_truncate before truncate on dogged.task_steps_default
  execute function dogged.refuse_change_of_history();

create table dogged.task_checkpoints (
  task_id  bigint not null,
  name     text not null check (octet_length(name) <= 128 and name ~ '^[A-Za-z0-9][A-Za-z0-9._:/-]*$'),
  attempt  integer not null,
  value    jsonb not null,
  saved_at timestamptz not null,
  primary key (task_id, name)
) with (fillfactor = 50);
comment on table dogged.task_checkpoints is
  'Where the loops of tasks go on (Context::checkpoint): the latest place of each. Rows of tasks that have ended go with the next '
  'retention (dogged.forget_steps).';
comment on column dogged.task_checkpoints.task_id is 'The task: tasks.id.';
comment on column dogged.task_checkpoints.name is 'The name that the handler gave the loop.';
comment on column dogged.task_checkpoints.attempt is 'The attempt that saved the place.';
comment on column dogged.task_checkpoints.value is 'The place, as JSON. It may hold what the task''s definition hides.';
comment on column dogged.task_checkpoints.saved_at is 'When it was saved.';
