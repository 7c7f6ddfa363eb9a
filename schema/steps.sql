-- The steps of tasks: which count, and what they gave.

create or replace view dogged.task_steps_overview as
select s.task_id, s.name, s.attempt, s.started_at, s.finished_at, s.finished_at - s.started_at as ran,
       -- Pointers name places in args and results, and not in what a step gives. So all of it is hidden.
       case when s.task_name = any (array(select d.name from dogged.task_definitions d where d.redact <> '{}'))
            then '"[redacted]"'::jsonb else s.result end as result,
       not exists (select from dogged.task_steps later
                    where later.task_id = s.task_id
                      and (later.name = s.name and later.attempt > s.attempt
                           or later.name is null and later.attempt >= s.attempt)) as counts,
       (select w.name from dogged.workers w where w.id = s.worker_id) as worker, s.task_name
  from dogged.task_steps s
 where s.name is not null;
comment on view dogged.task_steps_overview is
  'One row for each step of a task that has ended. Query one task_id, or a short time by finished_at.';
comment on column dogged.task_steps_overview.task_id is 'The task: tasks.id.';
comment on column dogged.task_steps_overview.name is 'The name that the handler gave the step.';
comment on column dogged.task_steps_overview.attempt is 'The attempt that ran the step.';
comment on column dogged.task_steps_overview.started_at is 'When the step began.';
comment on column dogged.task_steps_overview.finished_at is 'When the step ended.';
comment on column dogged.task_steps_overview.ran is 'How long the step took.';
comment on column dogged.task_steps_overview.result is
  'What the step gave, as JSON; "[redacted]" if the task''s definition hides anything of args or results.';
comment on column dogged.task_steps_overview.counts is
  'Whether a later attempt gets this result. False: a later attempt has run the step again, or the task was replayed since.';
comment on column dogged.task_steps_overview.worker is 'The name of the worker that ran the step.';
comment on column dogged.task_steps_overview.task_name is 'The task''s name.';

-- A task waits no more once its event has come, its time is over, or an operator has made it due.
-- The view unites two parts, so that a search for an event reads the index of events that have not arrived.
create or replace view dogged.waiting as
select w.task_id, t.name, t.queue, w.waits_for, w.name as step, w.attempt, w.began_at as since, w.until
  from (select 'event'::text as waits_for, e.* from dogged.task_waits e where e.for_event
         union all
        select 'sleep'::text, s.* from dogged.task_waits s where not s.for_event) w
  join dogged.tasks_live t on t.id = w.task_id and t.attempt = w.attempt and t.status = 'pending' and t.deferred
 where w.arrived_at is null and w.until > now();
comment on view dogged.waiting is
  'One row for each task that sleeps (Context::sleep) or waits for an event (Context::wait_event).';
comment on column dogged.waiting.task_id is 'The task: tasks.id.';
comment on column dogged.waiting.name is 'The task''s name.';
comment on column dogged.waiting.queue is 'The task''s queue.';
comment on column dogged.waiting.waits_for is 'sleep or event.';
comment on column dogged.waiting.step is 'The name of the event, or of the sleep: the step that the wait will be.';
comment on column dogged.waiting.attempt is 'The attempt that came to the wait last.';
comment on column dogged.waiting.since is 'When the first attempt came to the wait.';
comment on column dogged.waiting.until is 'When the wait is over, if no event ends it before.';

create or replace function dogged.steps_since(task_id bigint, enqueued_at timestamptz) returns integer
language sql stable begin atomic
  select coalesce(max(r.attempt), 0) from dogged.task_steps r
   where r.task_id = steps_since.task_id and r.name is null and r.finished_at >= steps_since.enqueued_at;
end;
comment on function dogged.steps_since(bigint, timestamptz) is
  'Internal: steps of attempts up to this one do not count, because the task was replayed to run them again; 0: all count. '
  'enqueued_at: when the task was enqueued, so that only the days since then are read.';

create or replace function dogged.step_in(task_id bigint, attempt integer, worker_id bigint, name text, result jsonb,
                                          began_us_ago bigint) returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
#variable_conflict use_variable
declare
  moment constant timestamptz := clock_timestamp();
  held record;
begin
  -- Locks the row until the transaction ends: no other worker gets the task before, and so none misses this record. A mere
  -- lock would not do: under REPEATABLE READ a transaction whose snapshot lacks a committed record gets 40001 from an update alone.
  update dogged.tasks_live t set worker_id = t.worker_id
   where t.id = step_in.task_id and t.attempt = step_in.attempt and t.worker_id = step_in.worker_id and t.status = 'running'
  returning t.name, t.enqueued_at, t.claimed_at into held;
  if not found then
    perform dogged.refuse_completion(task_id, attempt, worker_id);
  elsif exists (select from dogged.task_steps s
                 where s.task_id = step_in.task_id and s.name = step_in.name and s.attempt = step_in.attempt
                   and s.finished_at >= held.claimed_at) then
    raise exception 'the step "%" is on record in this attempt already: an earlier commit of it has taken effect', name
      using hint = 'Nothing of this transaction is committed.', errcode = 'ST001';
  end if;
  insert into dogged.task_steps (task_id, name, attempt, task_name, worker_id, started_at, finished_at, result)
  values (task_id, name, attempt, held.name, worker_id,
          greatest(held.claimed_at, moment - began_us_ago * interval '1 microsecond'),
          greatest(held.enqueued_at, held.claimed_at, moment), result);
end $$;
comment on function dogged.step_in(bigint, integer, bigint, text, jsonb, bigint) is
  'Internal: records a step in the caller''s transaction, for Context::step_in. Raises LE001 if the worker does not hold the '
  'attempt any more, and ST001 if the attempt has recorded the step already.';
