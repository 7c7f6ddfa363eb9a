-- dogged.emit(name, payload) sends an event to the tasks that wait for it; dogged.wait_durably(…) is how a task waits.
--
-- No wake-up is lost: emit holds a lock on the event's name until its transaction ends, and a wait holds the same lock
-- shared. So a wait that finds no event has its row committed before any later emit looks for rows. The wait does not
-- queue for the lock: a worker's handlers share one connection for steps, and an emit may be long under way.
-- The order of locks is the name, then rows of task_waits, then rows of tasks_live by id.

create or replace function dogged.event_lock(name text) returns bigint
language sql stable return hashtextextended('dogged.events'::regclass::oid::text || ':' || name, 0);
comment on function dogged.event_lock(text) is 'Internal: the key of the advisory lock on an event''s name.';

create or replace function dogged.emit(name text, payload jsonb default 'null') returns bigint
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
#variable_conflict use_column
declare
  max_bytes constant integer := (select s.max_result_bytes from dogged.settings s);
  waiting bigint[];
  woken_queues text[];
begin
  if (octet_length(emit.name) <= 128 and emit.name ~ '^[A-Za-z0-9][A-Za-z0-9._:/-]*$') is not true then
    raise exception 'the event name % is not 1 to 128 of A-Z a-z 0-9 . _ : / - beginning with a letter or a digit',
      coalesce(quote_literal(left(emit.name, 128)), 'null')
      using hint = 'Nothing was emitted.', errcode = 'invalid_parameter_value';
  elsif emit.payload is null then
    raise exception 'the payload of the event "%" is null', emit.name
      using hint = 'Leave the payload out, or give JSON. Nothing was emitted.', errcode = 'invalid_parameter_value';
  elsif (dogged.json_bytes(emit.payload, max_bytes) <= max_bytes) is not true then
    raise exception 'the payload of the event "%" has % bytes as JSON; the limit is %', emit.name,
      coalesce(dogged.json_bytes(emit.payload, max_bytes)::text, 'many more'), max_bytes
      using hint = 'Keep large data elsewhere and pass a reference (max_result_bytes in the table settings). Nothing was emitted.',
            errcode = 'invalid_parameter_value';
  -- With an older snapshot, emit would not see the rows of waits that it has waited for.
  elsif current_setting('transaction_isolation') <> 'read committed' then
    raise exception 'the event "%" cannot be emitted in a transaction with the isolation %', emit.name,
      current_setting('transaction_isolation')
      using hint = 'Emit it in a transaction of READ COMMITTED. Nothing was emitted.', errcode = 'invalid_transaction_state';
  end if;

  perform pg_advisory_xact_lock(dogged.event_lock(emit.name));
  perform pg_current_xact_id();  -- before a position is taken: see src/sql/claim/settle_watermarks.sql
  with arrived as (
    update dogged.task_waits w set arrived_at = clock_timestamp(), payload = emit.payload
     where w.name = emit.name and w.for_event and w.arrived_at is null
    returning w.task_id, w.attempt
  ), suspended as materialized (
    -- Waits for a claim of a task whose time is over at this moment. That task runs then, and finds the event itself.
    select t.id from dogged.tasks_live t join arrived a on a.task_id = t.id
     where t.id = any (array(select a.task_id from arrived a)) and t.status = 'pending' and t.deferred and t.attempt = a.attempt
     order by t.id for update of t
  ), woken as (
    update dogged.tasks_live t
       set next_retry_at = statement_timestamp(), deferred = false, ready_position = nextval('dogged.tasks_id_seq')
     where t.id = any (array(select s.id from suspended s))
    returning t.id, t.queue
  )
  select array_agg(w.id), array_agg(distinct w.queue) into waiting, woken_queues from woken w;
  insert into dogged.events (name, payload, emitted_at, resumed)
  values (emit.name, emit.payload, clock_timestamp(), coalesce(cardinality(waiting), 0));

  -- Follows the update, as in dogged.reschedule.
  if exists (select from dogged.workers w where w.asleep and w.queues ?| woken_queues) then
    perform pg_notify('dogged.wake', case when cardinality(woken_queues) = 1 then woken_queues[1] else '' end);
  end if;
  return coalesce(cardinality(waiting), 0);
end $$;
comment on function dogged.emit(text, jsonb) is
  'Sends an event to all tasks that wait for its name (Context::wait_event), in the caller''s transaction; returns how many that '
  'resumes. A task that waits later finds the event too, for settings.keep_events_days; of several of a name the latest. Waits '
  'for the name begin once the transaction has ended, so emit at its end. Needs READ COMMITTED.';

create or replace function dogged.record_wait(task dogged.tasks_live, wait_name text, waits_for text, began timestamptz, result jsonb)
returns void
language sql volatile begin atomic
  insert into dogged.task_steps (task_id, name, attempt, task_name, worker_id, started_at, finished_at, result, waits_for)
  values (task.id, wait_name, task.attempt, task.name, task.worker_id, began,
          greatest(task.enqueued_at, began, clock_timestamp()), result, waits_for);
  delete from dogged.task_waits w where w.task_id = task.id and w.name = wait_name;
end;
comment on function dogged.record_wait(dogged.tasks_live, text, text, timestamptz, jsonb) is
  'Internal: records a wait that is over as a step.';

create or replace function dogged.suspend(task dogged.tasks_live, wait dogged.task_waits, ran_us bigint,
                                          own_trace text) returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  ended_at constant timestamptz := greatest(task.claimed_at, clock_timestamp());
  left_ms constant bigint := ceil(extract(epoch from wait.until - ended_at) * 1000);
begin
  insert into dogged.task_waits as w values (wait.*)
  on conflict on constraint task_waits_pkey do update
     set attempt = excluded.attempt, for_event = excluded.for_event, began_at = excluded.began_at, until = excluded.until,
         arrived_at = null, payload = null;
  update dogged.tasks_live t set status = 'pending', next_retry_at = wait.until, deferred = true where t.id = task.id;
  insert into dogged.task_attempts (task_id, attempt, name, queue, outcome, worker_id, claimed_at, started_at, finished_at,
                                    error_message, will_retry, next_retry_at, backoff_ms, delay_ms, trace_context)
  values (task.id, task.attempt, task.name, task.queue, 'snoozed', task.worker_id, task.claimed_at,
          greatest(task.claimed_at, ended_at - ran_us * interval '1 microsecond'), ended_at,
          case when wait.for_event then 'waits for the event ' || wait.name else 'sleeps (' || wait.name || ')' end,
          true, wait.until, left_ms, left_ms, coalesce(own_trace, task.trace_context));
end $$;
comment on function dogged.suspend(dogged.tasks_live, dogged.task_waits, bigint, text) is
  'Internal: ends a running attempt as snoozed until its wait is over. ran_us: how long the handler has run; own_trace: as of '
  'complete_in.';

create or replace function dogged.wait_durably(
  task_id bigint, attempt integer, worker_id bigint, name text, for_event boolean, wait_ms bigint, ran_us bigint,
  own_trace text default null, out state text, out payload jsonb, out left_ms bigint)
language plpgsql set search_path = pg_catalog, pg_temp as $$
#variable_conflict use_variable
declare
  moment constant timestamptz := clock_timestamp();
  task dogged.tasks_live;
  wait dogged.task_waits;
  waits_for constant text := case when for_event then 'event' else 'sleep' end;
  recorded record;
  replayed integer;
begin
  if for_event and not pg_try_advisory_xact_lock_shared(dogged.event_lock(name)) then
    state := 'busy';
    return;
  end if;
  select t.* into task from dogged.tasks_live t
   where t.id = wait_durably.task_id and t.attempt = wait_durably.attempt and t.worker_id = wait_durably.worker_id
     and t.status = 'running';
  if not found then
    -- Suspended: the answer to an earlier sending was lost.
    state := case when exists (select from dogged.task_attempts a
                                where a.task_id = wait_durably.task_id and a.attempt = wait_durably.attempt
                                  and a.worker_id = wait_durably.worker_id and a.outcome = 'snoozed')
                  then 'suspended' else 'lost' end;
    return;
  elsif task.cancel_requested_at is not null then
    state := 'cancelled';
    return;
  end if;

  replayed := dogged.steps_since(task.id, task.enqueued_at);
  select s.result, coalesce(s.waits_for, 'step') as kind into recorded from dogged.task_steps s
   where s.task_id = task.id and s.name = wait_durably.name and s.finished_at >= task.enqueued_at
     and s.attempt > replayed
   order by s.attempt desc limit 1;
  if found and recorded.kind <> waits_for then
    state := 'other_kind';
    payload := to_jsonb(recorded.kind);
    return;
  elsif found then
    state := 'over';
    payload := recorded.result -> 'payload';
    return;
  end if;

  select w.* into wait from dogged.task_waits w
   where w.task_id = task.id and w.name = wait_durably.name and w.for_event = wait_durably.for_event and w.attempt > replayed;
  if not found then
    wait := row(task.id, name, task.attempt, for_event, moment, moment + wait_ms * interval '1 millisecond', null, null);
  end if;
  payload := wait.payload;
  if payload is null and for_event then
    select e.payload into payload from dogged.events e where e.name = wait_durably.name order by e.emitted_at desc limit 1;
  end if;
  if payload is not null or wait.until <= moment then
    state := 'over';
    perform dogged.record_wait(task, name, waits_for, wait.began_at,
                               case when payload is null then '{}' else jsonb_build_object('payload', payload) end);
    return;
  end if;
  -- Each wait begins another attempt, so this bounds them all.
  if task.attempt >= 10000 then
    state := 'at_limit';
    return;
  end if;
  -- Locked here alone: the report of an attempt that goes on would be sent twice (docs/decisions/0001). Another session
  -- that has locked the row may be about to cancel the task.
  perform from dogged.tasks_live t
    where t.id = task.id and t.attempt = task.attempt and t.worker_id = task.worker_id and t.status = 'running'
      and t.cancel_requested_at is null for update skip locked;
  if not found then
    state := 'busy';
    return;
  end if;
  wait.attempt := task.attempt;
  state := 'suspended';
  left_ms := ceil(extract(epoch from wait.until - moment) * 1000);
  perform dogged.suspend(task, wait, ran_us, own_trace);
end $$;
comment on function dogged.wait_durably(bigint, integer, bigint, text, boolean, bigint, bigint, text) is
  'Internal: begins or continues a wait of a running attempt. ran_us and own_trace: as of complete_in. state: over, with the payload if an event came; suspended: the '
  'attempt has ended as snoozed, left_ms before the time is over; cancelled: the task is to be cancelled; other_kind: the name is on record for a '
  'step or the other kind of wait, and payload is that kind; busy: an emit of this '
  'event or a change of the task is under way, ask again; at_limit: the task has begun 10,000 attempts, and waits no more; '
  'lost: the worker does not hold the attempt any more.';

-- Skips locked rows: an emit keeps the rows of its event locked until its transaction ends. Upkeep must not wait for such a
-- transaction, because upkeep rescues tasks too.
create or replace function dogged.forget_steps() returns bigint
language plpgsql security definer set search_path = pg_catalog, pg_temp set plan_cache_mode = auto as $$
declare
  waits bigint;
  checkpoints bigint;
  progress bigint;
begin
  delete from dogged.task_waits w
   using (select o.task_id, o.name from dogged.task_waits o
           where not exists (select from dogged.tasks_live t where t.id = o.task_id)
             and not exists (select from dogged.tasks_failed t where t.id = o.task_id)
             for update skip locked) old
   where w.task_id = old.task_id and w.name = old.name;
  get diagnostics waits = row_count;
  delete from dogged.task_checkpoints c
   using (select o.task_id, o.name from dogged.task_checkpoints o
           where not exists (select from dogged.tasks_live t where t.id = o.task_id)
             and not exists (select from dogged.tasks_failed t where t.id = o.task_id)
             for update skip locked) old
   where c.task_id = old.task_id and c.name = old.name;
  get diagnostics checkpoints = row_count;
  delete from dogged.task_progress p
   using (select o.task_id from dogged.task_progress o
           where not exists (select from dogged.tasks_live t where t.id = o.task_id)
             and not exists (select from dogged.tasks_failed t where t.id = o.task_id)
             for update skip locked) old
   where p.task_id = old.task_id;
  get diagnostics progress = row_count;
  return waits + checkpoints + progress;
end $$;
comment on function dogged.forget_steps() is
  'Deletes the checkpoints, waits and progress of tasks that have ended and are no dead letters; returns their number.';
