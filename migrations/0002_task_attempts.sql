-- The history: one row for each attempt, written when the attempt ends, and never changed.

create table dogged.task_attempts (
  task_id        bigint not null,
  attempt        integer not null,
  name           text not null,
  queue          text not null,
  outcome        dogged.attempt_outcome not null,
  worker_id      bigint not null,
  claimed_at     timestamptz not null,
  started_at     timestamptz not null,
  finished_at    timestamptz not null,
  error_code     text,
  error_message  text,
  error_details  jsonb,
  will_retry     boolean not null,
  next_retry_at  timestamptz,
  policy         text,
  backoff_ms     bigint,
  delay_ms       bigint,
  retry_after_ms bigint,
  trace_context  text
) partition by range (finished_at);
create index task_attempts_task on dogged.task_attempts (task_id, attempt);
-- Like the index of ended tasks on finished_at.
create index task_attempts_finished_at on dogged.task_attempts using brin (finished_at);
create table dogged.task_attempts_default partition of dogged.task_attempts default;

comment on table dogged.task_attempts is
  'One row for each attempt that ended: append-only. UPDATE, DELETE and TRUNCATE are refused; retention drops '
  'partitions of whole days.';
comment on column dogged.task_attempts.task_id is 'The task: tasks.id.';
comment on column dogged.task_attempts.attempt is '1, 2, 3 … for the whole life of the task, without a gap.';
comment on column dogged.task_attempts.name is 'The task''s name, so that queries on many attempts need no join.';
comment on column dogged.task_attempts.queue is 'The queue that the task was in.';
comment on column dogged.task_attempts.outcome is 'How the attempt ended (docs/lifecycle.md).';
comment on column dogged.task_attempts.worker_id is 'The worker that ran the attempt: workers.id.';
comment on column dogged.task_attempts.claimed_at is 'When the worker claimed the task.';
comment on column dogged.task_attempts.started_at is 'When the handler began.';
comment on column dogged.task_attempts.finished_at is 'When the handler ended.';
comment on column dogged.task_attempts.error_code is 'Null unless the outcome is failed, timed_out, cancelled or lost.';
comment on column dogged.task_attempts.error_message is 'The error message; an interrupted or snoozed attempt may have one as well.';
comment on column dogged.task_attempts.error_details is
  'Details that the handler added to its error (TaskError::details), as JSON.';
comment on column dogged.task_attempts.will_retry is 'Whether another attempt was scheduled when this one ended.';
comment on column dogged.task_attempts.next_retry_at is 'finished_at + delay_ms where will_retry.';
comment on column dogged.task_attempts.policy is
  'The applied retry policy, as `dogged policy show` reads it; null where no policy decided on a retry.';
comment on column dogged.task_attempts.backoff_ms is 'The delay by the policy, before jitter.';
comment on column dogged.task_attempts.delay_ms is 'The delay after jitter.';
comment on column dogged.task_attempts.retry_after_ms is 'The delay that the error gave, in place of the policy''s delay.';

comment on column dogged.task_attempts.trace_context is 'The trace of the attempt, if the worker made it the root of one; else the task''s trace context, as the producer gave it.';
comment on table dogged.task_attempts_default is
  'For days that have no partition yet; dogged.make_partitions moves its rows.';

create function dogged.refuse_change_of_history() returns trigger
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  raise exception '% of % is refused: attempts and steps are history and never change', tg_op, tg_relid::regclass
    using errcode = 'restrict_violation', hint = 'Retention drops partitions of whole days.';
end $$;
comment on function dogged.refuse_change_of_history() is 'Keeps task_attempts and task_steps append-only.';

-- A row-level trigger, because partitions inherit only these. TRUNCATE has no row-level triggers, so each partition
-- gets a trigger of its own (dogged.make_partitions).
create trigger refuse_change before update or delete on dogged.task_attempts
  for each row execute function dogged.refuse_change_of_history();
create trigger refuse_truncate before truncate on dogged.task_attempts
  execute function dogged.refuse_change_of_history();
create trigger refuse_truncate before truncate on dogged.task_attempts_default
  execute function dogged.refuse_change_of_history();
