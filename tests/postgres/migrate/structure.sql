-- Made by scripts/structure on PostgreSQL 15 from migrations/ and schema/; edit those and run it again.

CREATE SCHEMA dogged;

CREATE TYPE dogged.attempt_outcome AS ENUM (
    'succeeded',
    'failed',
    'timed_out',
    'cancelled',
    'lost',
    'interrupted',
    'snoozed'
);

COMMENT ON TYPE dogged.attempt_outcome IS 'How an attempt ended (docs/lifecycle.md).';

CREATE TYPE dogged.circuit_state AS ENUM (
    'closed',
    'open',
    'half_open'
);

COMMENT ON TYPE dogged.circuit_state IS 'closed: tasks run; open: tasks are deferred; half_open: a few tasks run as probes.';

CREATE TYPE dogged.compiled_spec AS (
	every_seconds bigint,
	seconds bigint,
	minutes bigint,
	hours bigint,
	days bigint,
	months bigint,
	weekdays bigint,
	is_either_day boolean,
	is_by_elapsed_time boolean
);

COMMENT ON TYPE dogged.compiled_spec IS 'What a schedule''s spec means (dogged.compile_spec): the seconds between its times, or sets of the numbers that its fields may have, one bit for each.';

CREATE TYPE dogged.schedule_overlap AS ENUM (
    'skip',
    'buffer_one',
    'buffer_all',
    'cancel_other',
    'allow_all'
);

COMMENT ON TYPE dogged.schedule_overlap IS 'What becomes of a tick whose schedule''s last task has not ended (docs/schedules.md).';

CREATE TYPE dogged.task_status AS ENUM (
    'pending',
    'running',
    'succeeded',
    'failed',
    'discarded',
    'cancelled',
    'expired'
);

COMMENT ON TYPE dogged.task_status IS 'The state of a task: pending and running tasks are alive, all others have ended (docs/lifecycle.md).';

CREATE TYPE dogged.tick_outcome AS ENUM (
    'fired',
    'waiting',
    'skipped'
);

COMMENT ON TYPE dogged.tick_outcome IS 'fired: the tick''s task was enqueued; waiting: it will be when the task before it has ended; skipped: there is none.';

CREATE TYPE dogged.unique_conflict AS ENUM (
    'keep',
    'refuse',
    'replace_args',
    'merge_args',
    'reschedule',
    'debounce',
    'debounce_merge'
);

COMMENT ON TYPE dogged.unique_conflict IS 'What an enqueue does if a task holds its unique key. keep: nothing. refuse: raises an error. replace_args, merge_args: gives a pending holder the new args, or adds them to its args. reschedule: moves the first run of the holder. debounce: reschedule and replace_args. debounce_merge: reschedule and merge_args.';

CREATE TYPE dogged.unique_while AS ENUM (
    'pending',
    'live',
    'kept'
);

COMMENT ON TYPE dogged.unique_while IS 'How long a task holds its unique key. pending: until the task begins, and again while it waits for a retry; live: until it has ended; kept: for the period that the call names, or as long as the database keeps the task.';

CREATE FUNCTION dogged.adopt_declaration(name text, settings jsonb, first_seen_at timestamp with time zone) RETURNS text
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
  before dogged.schedules;
  outcome text;
  to_rename constant bigint := dogged.schedule_to_rename(adopt_declaration.name, adopt_declaration.settings ->> 'formerly');
begin
  update dogged.schedules s set name = adopt_declaration.name, changed_at = clock_timestamp() where s.id = to_rename;
  select s.* into before from dogged.schedules s where s.name = adopt_declaration.name for update;
  if before.declared = settings then return 'unchanged'; end if;
  outcome := dogged.put_schedule(name, settings - 'formerly');
  if outcome = 'unchanged' and to_rename is not null then outcome := 'changed'; end if;
  update dogged.schedules s set declared = settings, declared_at = adopt_declaration.first_seen_at where s.name = adopt_declaration.name;
  if outcome <> 'unchanged' then
    perform dogged.record_audit(
      'declare_schedule', null,
      jsonb_build_object('schedule', name, 'outcome', outcome, 'settings', settings,
                         'before', (select jsonb_object_agg(was.key, was.value) from jsonb_each(to_jsonb(before)) was where settings ? was.key)));
  end if;
  return outcome;
end $$;

COMMENT ON FUNCTION dogged.adopt_declaration(name text, settings jsonb, first_seen_at timestamp with time zone) IS 'Internal: gives a schedule the settings that a program declares, unless they were put in force before.';

CREATE FUNCTION dogged.alive_of(tasks bigint[]) RETURNS bigint[]
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
  return array(select l.id from dogged.tasks_live l where l.id = any (tasks));
end $$;

COMMENT ON FUNCTION dogged.alive_of(tasks bigint[]) IS 'Internal: those of the tasks that have not ended.';

CREATE TABLE dogged.producer_calls (
    producer uuid NOT NULL,
    call bigint NOT NULL,
    task_ids int8multirange NOT NULL,
    answer text,
    called_at timestamp with time zone DEFAULT now() NOT NULL
)
WITH (fillfactor='50');

COMMENT ON TABLE dogged.producer_calls IS 'The last call of each connected client (dogged::Client), with the ids of the tasks that the call enqueued, or with its answer. Producer and call are the idempotency key of a call that is repeated because its answer was lost. Rows are removed after two days.';

COMMENT ON COLUMN dogged.producer_calls.producer IS 'A random id, which the client draws when it is created.';

COMMENT ON COLUMN dogged.producer_calls.call IS 'The number of the producer''s call, counted from 1.';

COMMENT ON COLUMN dogged.producer_calls.task_ids IS 'The ids of the tasks that the call enqueued: the answer, if the client asks again. The ids of a thousand tasks are mostly one range, where an array would be compressed.';

COMMENT ON COLUMN dogged.producer_calls.answer IS 'The answer of a cancel, replay or reschedule; null after an enqueue.';

COMMENT ON COLUMN dogged.producer_calls.called_at IS 'When the call was made. The row is removed by this time.';

CREATE FUNCTION dogged.answer_made(producer uuid, call bigint) RETURNS SETOF text
    LANGUAGE sql SECURITY DEFINER
    BEGIN ATOMIC
 WITH last AS MATERIALIZED (
          SELECT c.call,
             c.answer
            FROM dogged.producer_calls c
           WHERE (c.producer = answer_made.producer)
          FOR UPDATE OF c
         )
  SELECT last.answer
    FROM last
   WHERE (last.call = answer_made.call);
END;

COMMENT ON FUNCTION dogged.answer_made(producer uuid, call bigint) IS 'Like call_made, for a call that enqueues nothing: the answer of the call.';

CREATE FUNCTION dogged.are_sound_tags(tags text[]) RETURNS boolean
    LANGUAGE plpgsql STABLE PARALLEL SAFE
    AS $_$
begin
  return pg_catalog.cardinality(tags) operator(pg_catalog.=) 0
    or (pg_catalog.array_ndims(tags) operator(pg_catalog.=) 1 and pg_catalog.cardinality(tags) operator(pg_catalog.<=) 256
        and pg_catalog.octet_length(pg_catalog.array_to_string(tags, ',')) operator(pg_catalog.<=) 512
        and pg_catalog.array_to_string(tags, ',', '')
            operator(pg_catalog.~) '^[A-Za-z0-9][A-Za-z0-9._:/-]*(,[A-Za-z0-9][A-Za-z0-9._:/-]*)*$'
        and pg_catalog.cardinality(pg_catalog.string_to_array(pg_catalog.array_to_string(tags, ','), ','))
            operator(pg_catalog.=) pg_catalog.cardinality(tags));  -- no tag has a comma
end $_$;

COMMENT ON FUNCTION dogged.are_sound_tags(tags text[]) IS 'Internal: whether a task may have these tags: each of A-Z a-z 0-9 . _ : / - beginning with a letter or a digit, and with commas between them up to 512 bytes. Null for null.';

CREATE FUNCTION dogged.audit_actor() RETURNS text
    LANGUAGE sql STABLE
    RETURN COALESCE(NULLIF(current_setting('dogged.actor'::text, true), ''::text), (SESSION_USER)::text);

COMMENT ON FUNCTION dogged.audit_actor() IS 'The actor: the session''s setting dogged.actor, else the database''s session_user.';

CREATE FUNCTION dogged.audit_settings() RETURNS trigger
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
  perform dogged.record_audit(
    'set_settings', null,
    (select jsonb_build_object('settings', jsonb_object_agg(now_set.key, now_set.value), 'before', jsonb_object_agg(was.key, was.value))
       from jsonb_each(to_jsonb(new)) now_set join jsonb_each(to_jsonb(old)) was on was.key = now_set.key
      where was.value is distinct from now_set.value));
  return null;
end $$;

COMMENT ON FUNCTION dogged.audit_settings() IS 'Records each change of dogged.settings in the audit.';

CREATE FUNCTION dogged.backfill_schedule(name text, from_time timestamp with time zone, until_time timestamp with time zone, overlap text DEFAULT 'buffer_all'::text) RETURNS integer
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
  schedule dogged.schedules := dogged.lock_schedule(backfill_schedule.name);
  tick timestamptz;
  before dogged.schedule_ticks;
  started integer := 0;
  -- Partitions of ticks hold days of UTC.
  kept_since constant timestamptz :=
    (select greatest(s.ticks_since, (clock_timestamp() at time zone 'UTC')::date - s.keep_ticks_days)::timestamp at time zone 'UTC' from dogged.settings s);
begin
  if (backfill_schedule.overlap in ('buffer_all', 'allow_all')) is not true then
    perform dogged.refuse_schedule(name, format('the overlap of its backfill is %s', coalesce('"' || left(backfill_schedule.overlap, 60) || '"', 'null')),
                                   'Give buffer_all (one task after the other) or allow_all (all at once): with the others most ticks would do nothing.');
  elsif isfinite(from_time) is not true then
    perform dogged.refuse_schedule(name, format('the from_time of its backfill is %s', coalesce(from_time::text, 'null')), 'Give a time.');
  elsif isfinite(until_time) is not true then
    perform dogged.refuse_schedule(name, format('the until_time of its backfill is %s', coalesce(until_time::text, 'null')), 'Give a time.');
  elsif from_time >= until_time then
    perform dogged.refuse_schedule(name, format('its backfill is from %s to %s', from_time, until_time),
                                   'Give a range that begins before it ends.');
  elsif until_time > clock_timestamp() then
    perform dogged.refuse_schedule(name, format('its backfill ends at %s, which is to come (it is %s)', until_time, clock_timestamp()),
                                   'Workers fire the ticks to come. End the range now at the latest.');
  elsif from_time < kept_since then
    perform dogged.refuse_schedule(name, format('its backfill begins at %s, and ticks of before %s are not on record any more', from_time, kept_since),
                                   format('Begin at %s or later: what fired before would fire again. dogged.settings.keep_ticks_days says for how long ticks '
                                          'to come are kept.', kept_since));
  end if;
  perform dogged.require_time_zone(name, schedule.time_zone);
  schedule.live_tasks := dogged.alive_of(schedule.live_tasks);
  foreach tick in array dogged.ticks_to_backfill(schedule, from_time, until_time) loop
    select t.* into before from dogged.schedule_ticks t where t.schedule_id = schedule.id and t.scheduled_at = tick;
    continue when before.outcome <> 'skipped';
    schedule.live_tasks := dogged.decide_tick(schedule, tick, backfill_schedule.overlap::dogged.schedule_overlap, 'backfill');
    if before.skipped_until is not null then perform dogged.hand_range_on(schedule, before); end if;
    started := started + (select count(*) from dogged.schedule_ticks t
                           where t.schedule_id = schedule.id and t.scheduled_at = tick and t.outcome <> 'skipped');
  end loop;
  update dogged.schedules s
     set live_tasks = case when backfill_schedule.overlap = 'allow_all' then s.live_tasks else schedule.live_tasks end,
         -- A backfill in a pause may decide a tick after next_at. The ticks between are undecided, and after a clock that was
         -- set back, resume_schedule would pass over them.
         last_tick_at = greatest(s.last_tick_at, case when (tick >= s.next_at) is not true then tick end),
         fires_at = case when s.paused_at is null then dogged.looked_after_at(s, clock_timestamp()) end
   where s.id = schedule.id;
  perform pg_notify('dogged.schedules', '');
  perform dogged.record_audit('backfill_schedule', null, jsonb_build_object('schedule', name, 'from', from_time, 'until', until_time,
                                                                            'overlap', backfill_schedule.overlap, 'ticks', started));
  return started;
end $$;

COMMENT ON FUNCTION dogged.backfill_schedule(name text, from_time timestamp with time zone, until_time timestamp with time zone, overlap text) IS 'Makes up for the times of a schedule from from_time until before until_time that have not fired, up to 1000, whatever was skipped. from_time: not before the days of settings.keep_ticks_days. overlap: buffer_all, one task after the other, or allow_all, all at once. Returns how many ticks will run or wait.';

CREATE FUNCTION dogged.call_made(producer uuid, call bigint) RETURNS int8multirange
    LANGUAGE sql SECURITY DEFINER
    BEGIN ATOMIC
 WITH last AS MATERIALIZED (
          SELECT c.call,
             c.task_ids
            FROM dogged.producer_calls c
           WHERE (c.producer = call_made.producer)
          FOR UPDATE OF c
         )
  SELECT last.task_ids
    FROM last
   WHERE (last.call = call_made.call);
END;

COMMENT ON FUNCTION dogged.call_made(producer uuid, call bigint) IS 'The ids of the tasks that a producer''s call enqueued; null if the call has not taken effect. Waits for a try that is still running, and keeps later tries waiting until the caller''s transaction ends.';

CREATE FUNCTION dogged.cancel(id bigint) RETURNS text
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
  task record;
begin
  if cancel.id is null then
    raise exception 'the id of the task to cancel is null'
      using hint = 'Give the id that enqueue gave. Nothing was cancelled.', errcode = 'invalid_parameter_value';
  end if;

  -- Waits for a running claim or completion; after that the task runs, or has left the live table. Each statement below
  -- has its own snapshot, which shows that result. Under REPEATABLE READ and SERIALIZABLE the snapshot may be older, so
  -- PostgreSQL refuses the lock (40001).
  select t.status, t.worker_id, t.queue, t.name, t.cancel_requested_at is null as is_new into task
    from dogged.tasks_live t where t.id = cancel.id for update;

  if not found then
    return case when exists (select from dogged.tasks t where t.id = cancel.id) then 'ended' else 'not_found' end;
  end if;

  -- Audited once: a request made while the task ran only takes effect here. A worker that releases the task calls this
  -- function too.
  if task.is_new then
    perform dogged.record_audit('cancel', cancel.id,
                                jsonb_build_object('name', task.name, 'queue', task.queue, 'status', task.status));
  end if;

  if task.status = 'running' then
    update dogged.tasks_live t set cancel_requested_at = clock_timestamp()
     where t.id = cancel.id and t.cancel_requested_at is null;
    -- Sent again if cancellation was requested before: a user repeats the call if a notification was lost.
    perform pg_notify('dogged.cancel', task.worker_id::text);
    return 'requested';
  end if;

  -- error_code and error_message keep the values of the last failed attempt: a retry that will not run is no error.
  with removed as (
    delete from dogged.tasks_live t where t.id = cancel.id returning t.*
  )
  insert into dogged.tasks (id, status, queue, name, priority, args, enqueued_at, run_at, attempt, retry_count, losses,
                            worker_id, claimed_at, finished_at, error_code, error_message, trace_context,
                            cancel_requested_at, expires_at, tags, parent_id, args_version, snoozes, unique_key)
  select r.id, 'cancelled', r.queue, r.name, r.priority, r.args, r.enqueued_at, r.run_at, r.attempt, r.retry_count, r.losses,
         r.worker_id, r.claimed_at, clock_timestamp(), r.error_code, r.error_message, r.trace_context,
         r.cancel_requested_at, r.expires_at, r.tags, r.parent_id, r.args_version, r.snoozes, r.unique_key
    from removed r;
  return 'cancelled';
end $$;

COMMENT ON FUNCTION dogged.cancel(id bigint) IS 'Cancels a task in the caller''s transaction, and records this in dogged.audit. Returns cancelled: the task was pending and has ended; requested: the task runs, its handler is asked to stop once this transaction commits, and the task ends as cancelled unless the attempt succeeds; ended: the task had ended before, nothing has changed; not_found: no such task exists, or no longer.';

CREATE TABLE dogged.schedules (
    id bigint NOT NULL,
    name text NOT NULL,
    task text NOT NULL,
    spec text NOT NULL,
    time_zone text NOT NULL,
    compiled dogged.compiled_spec NOT NULL,
    args jsonb NOT NULL,
    args_version smallint,
    queue text,
    priority smallint NOT NULL,
    jitter_ms bigint NOT NULL,
    overlap dogged.schedule_overlap NOT NULL,
    catch_up_ms bigint,
    catch_up_limit integer,
    next_at timestamp with time zone,
    fires_at timestamp with time zone,
    live_tasks bigint[] DEFAULT '{}'::bigint[] NOT NULL,
    last_tick_at timestamp with time zone,
    paused_at timestamp with time zone,
    declared jsonb,
    declared_at timestamp with time zone,
    created_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    changed_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    CONSTRAINT schedules_name_check CHECK (((octet_length(name) <= 128) AND (name ~ '^[A-Za-z0-9][A-Za-z0-9._:/-]*$'::text)))
)
WITH (fillfactor='70');

COMMENT ON TABLE dogged.schedules IS 'What is enqueued periodically. Workers fire what is due; dogged.schedule(…) and the functions beside it change schedules, and programs declare them.';

COMMENT ON COLUMN dogged.schedules.id IS 'Stays when the schedule is renamed, and is never given again: ticks are kept by it.';

COMMENT ON COLUMN dogged.schedules.name IS 'The schedule''s name.';

COMMENT ON COLUMN dogged.schedules.task IS 'The name of the task that it enqueues.';

COMMENT ON COLUMN dogged.schedules.spec IS 'When it fires, as it was written: 0 3 * * *, @daily, every 90s.';

COMMENT ON COLUMN dogged.schedules.time_zone IS 'The IANA time zone in which the spec is read.';

COMMENT ON COLUMN dogged.schedules.compiled IS 'What the spec means.';

COMMENT ON COLUMN dogged.schedules.args IS 'The args of its tasks. Show them to people only through dogged.redacted(task, args).';

COMMENT ON COLUMN dogged.schedules.args_version IS 'The version of the args in the task''s key; null: 1.';

COMMENT ON COLUMN dogged.schedules.queue IS 'The queue of its tasks; null: that of the task''s definition.';

COMMENT ON COLUMN dogged.schedules.priority IS 'The priority of its tasks.';

COMMENT ON COLUMN dogged.schedules.jitter_ms IS 'Each tick is put off by up to this long, always by the same time for the same tick, so that many schedules of one time spread.';

COMMENT ON COLUMN dogged.schedules.overlap IS 'What becomes of a tick while the task of an earlier tick has not ended.';

COMMENT ON COLUMN dogged.schedules.catch_up_ms IS 'Ticks that nobody could fire in time are made up for while they are no older than this; null: however old.';

COMMENT ON COLUMN dogged.schedules.catch_up_limit IS 'How many of them at most, the latest; 0: none; null: all.';

COMMENT ON COLUMN dogged.schedules.next_at IS 'The time of the next tick, without its jitter; null: the spec has no more.';

COMMENT ON COLUMN dogged.schedules.fires_at IS 'When a worker is to look after it: when the next tick is due, or a tick waits; null: it is paused.';

COMMENT ON COLUMN dogged.schedules.live_tasks IS 'Tasks of its ticks that had not ended when it last fired.';

COMMENT ON COLUMN dogged.schedules.last_tick_at IS 'The latest tick that was decided. No later change makes a tick at or before it.';

COMMENT ON COLUMN dogged.schedules.paused_at IS 'When it was paused; null: it is not.';

COMMENT ON COLUMN dogged.schedules.declared IS 'Its settings as the program declared them that is in force; null: no program has.';

COMMENT ON COLUMN dogged.schedules.declared_at IS 'When that declaration was first seen.';

COMMENT ON COLUMN dogged.schedules.created_at IS 'When it was created.';

COMMENT ON COLUMN dogged.schedules.changed_at IS 'When its settings were last changed.';

CREATE FUNCTION dogged.cancel_tasks_of(schedule dogged.schedules) RETURNS bigint[]
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
  actor constant text := current_setting('dogged.actor', true);
  task_id bigint;
begin
  perform set_config('dogged.actor', 'schedule ' || schedule.name, true);
  for task_id in
    select l.id from dogged.tasks_live l
     where l.id = any (schedule.live_tasks) and l.cancel_requested_at is null
     order by l.id for update skip locked
  loop
    perform dogged.cancel(task_id);
  end loop;
  perform set_config('dogged.actor', coalesce(actor, ''), true);
  return dogged.alive_of(schedule.live_tasks);
end $$;

COMMENT ON FUNCTION dogged.cancel_tasks_of(schedule dogged.schedules) IS 'Internal: cancels the tasks of earlier ticks; returns the tasks that are alive until their handler has stopped.';

CREATE TABLE dogged.tasks (
    id bigint NOT NULL,
    status dogged.task_status DEFAULT 'pending'::dogged.task_status NOT NULL,
    queue text NOT NULL,
    name text NOT NULL,
    priority smallint DEFAULT 0 NOT NULL,
    args jsonb NOT NULL,
    enqueued_at timestamp with time zone DEFAULT now() NOT NULL,
    run_at timestamp with time zone DEFAULT now() NOT NULL,
    deferred boolean DEFAULT false NOT NULL,
    next_retry_at timestamp with time zone,
    attempt integer DEFAULT 0 NOT NULL,
    retry_count integer DEFAULT 0 NOT NULL,
    losses integer DEFAULT 0 NOT NULL,
    worker_id bigint,
    claimed_at timestamp with time zone,
    finished_at timestamp with time zone,
    result jsonb,
    error_code text,
    error_message text,
    trace_context text,
    ready_position bigint,
    expires_at timestamp with time zone,
    tags text[],
    parent_id bigint,
    args_version smallint,
    snoozes integer,
    unique_key text,
    cancel_requested_at timestamp with time zone,
    CONSTRAINT tasks_expires_at_check CHECK (isfinite(expires_at))
)
PARTITION BY LIST (status);

COMMENT ON TABLE dogged.tasks IS 'Every task, from enqueue to its end.';

COMMENT ON COLUMN dogged.tasks.id IS 'The task''s id, given out by enqueue, for the whole life of the task.';

COMMENT ON COLUMN dogged.tasks.status IS 'The task''s status, which decides in which partition the task is stored.';

COMMENT ON COLUMN dogged.tasks.queue IS 'The name of the task''s queue.';

COMMENT ON COLUMN dogged.tasks.name IS 'The task''s name, which workers declare with TASK_REGISTER.';

COMMENT ON COLUMN dogged.tasks.priority IS 'Lower priorities run first. Among equal priorities, the task that became ready first runs first.';

COMMENT ON COLUMN dogged.tasks.args IS 'The handler''s args, as JSON. Show args to people only through dogged.redacted(name, args).';

COMMENT ON COLUMN dogged.tasks.enqueued_at IS 'When the producer''s transaction began.';

COMMENT ON COLUMN dogged.tasks.run_at IS 'The first attempt does not begin before this time.';

COMMENT ON COLUMN dogged.tasks.deferred IS 'True while a pending task waits for run_at or next_retry_at. The task is then in the index of waiting tasks, and not in the index of ready tasks. A worker sets this to false when the task is due.';

COMMENT ON COLUMN dogged.tasks.next_retry_at IS 'The next attempt does not begin before this time. Set for a retry, or for a task that was deferred because its circuit is open or its queue''s retry budget is spent. The value stays while that attempt runs.';

COMMENT ON COLUMN dogged.tasks.attempt IS 'The number of attempts begun. While the task runs, the number of the current attempt.';

COMMENT ON COLUMN dogged.tasks.retry_count IS 'Retries spent; a lost, interrupted or snoozed attempt spends none.';

COMMENT ON COLUMN dogged.tasks.losses IS 'Attempts that ended because their worker died.';

COMMENT ON COLUMN dogged.tasks.worker_id IS 'The worker that holds the running task, or that ran the task last: workers.id.';

COMMENT ON COLUMN dogged.tasks.claimed_at IS 'When a worker last claimed the task.';

COMMENT ON COLUMN dogged.tasks.finished_at IS 'When the task ended; null while the task is pending or running.';

COMMENT ON COLUMN dogged.tasks.result IS 'The handler''s return value, as JSON; null unless the task succeeded.';

COMMENT ON COLUMN dogged.tasks.error_code IS 'The error code of the last failed attempt.';

COMMENT ON COLUMN dogged.tasks.error_message IS 'The error message of the last failed attempt.';

COMMENT ON COLUMN dogged.tasks.trace_context IS 'The trace context, as the producer gave it; copied to attempts that are no root of a trace.';

COMMENT ON COLUMN dogged.tasks.ready_position IS 'The task''s place among the ready tasks of its queue and priority; null: its id is its place. A task that fell due has a number from the sequence of the ids. A task that was released to run again at once has a number before all of those.';

COMMENT ON COLUMN dogged.tasks.expires_at IS 'No attempt begins after this time. A task that is still pending then ends as expired. Null: the task does not expire.';

COMMENT ON COLUMN dogged.tasks.tags IS 'Words that the producer gave the task, for people to find the task by; null: none.';

COMMENT ON COLUMN dogged.tasks.parent_id IS 'The parent: the task of the handler that enqueued this one, or the task that the producer named. Null: none. Retention may have dropped the parent.';

COMMENT ON COLUMN dogged.tasks.args_version IS 'The version of the args, as the producer''s key or call named it; null: 1. Only a worker that knows this version or a later one runs the task.';

COMMENT ON COLUMN dogged.tasks.snoozes IS 'Attempts that ended because the handler snoozed, since the task was enqueued or replayed; null: none.';

COMMENT ON COLUMN dogged.tasks.unique_key IS 'The key of a unique task (dogged.unique_keys), as the producer gave it, or the hash of the args that it covers; null: the task is not unique.';

COMMENT ON COLUMN dogged.tasks.cancel_requested_at IS 'When dogged.cancel was called while an attempt ran. The worker asks the handler to stop. Unless the attempt succeeds all the same, the task ends as cancelled.';

CREATE SEQUENCE dogged.tasks_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;

ALTER SEQUENCE dogged.tasks_id_seq OWNED BY dogged.tasks.id;

COMMENT ON SEQUENCE dogged.tasks_id_seq IS 'The ids of tasks, and the ready positions of tasks that became ready after their enqueue.';

CREATE TABLE dogged.tasks_live (
    id bigint DEFAULT nextval('dogged.tasks_id_seq'::regclass) NOT NULL,
    status dogged.task_status DEFAULT 'pending'::dogged.task_status NOT NULL,
    queue text NOT NULL,
    name text NOT NULL,
    priority smallint DEFAULT 0 NOT NULL,
    args jsonb NOT NULL,
    enqueued_at timestamp with time zone DEFAULT now() NOT NULL,
    run_at timestamp with time zone DEFAULT now() NOT NULL,
    deferred boolean DEFAULT false NOT NULL,
    next_retry_at timestamp with time zone,
    attempt integer DEFAULT 0 NOT NULL,
    retry_count integer DEFAULT 0 NOT NULL,
    losses integer DEFAULT 0 NOT NULL,
    worker_id bigint,
    claimed_at timestamp with time zone,
    finished_at timestamp with time zone,
    result jsonb,
    error_code text,
    error_message text,
    trace_context text,
    ready_position bigint,
    expires_at timestamp with time zone,
    tags text[],
    parent_id bigint,
    args_version smallint,
    snoozes integer,
    unique_key text,
    cancel_requested_at timestamp with time zone,
    CONSTRAINT tasks_expires_at_check CHECK (isfinite(expires_at))
)
WITH (fillfactor='45', autovacuum_vacuum_scale_factor='0.02', autovacuum_vacuum_threshold='1000', autovacuum_vacuum_cost_delay='0');

COMMENT ON TABLE dogged.tasks_live IS 'The pending and running tasks: small and hot, whatever the history.';

COMMENT ON COLUMN dogged.tasks_live.id IS 'The task''s id, given out by enqueue, for the whole life of the task.';

COMMENT ON COLUMN dogged.tasks_live.status IS 'The task''s status, which decides in which partition the task is stored.';

COMMENT ON COLUMN dogged.tasks_live.queue IS 'The name of the task''s queue.';

COMMENT ON COLUMN dogged.tasks_live.name IS 'The task''s name, which workers declare with TASK_REGISTER.';

COMMENT ON COLUMN dogged.tasks_live.priority IS 'Lower priorities run first. Among equal priorities, the task that became ready first runs first.';

COMMENT ON COLUMN dogged.tasks_live.args IS 'The handler''s args, as JSON. Show args to people only through dogged.redacted(name, args).';

COMMENT ON COLUMN dogged.tasks_live.enqueued_at IS 'When the producer''s transaction began.';

COMMENT ON COLUMN dogged.tasks_live.run_at IS 'The first attempt does not begin before this time.';

COMMENT ON COLUMN dogged.tasks_live.deferred IS 'True while a pending task waits for run_at or next_retry_at. The task is then in the index of waiting tasks, and not in the index of ready tasks. A worker sets this to false when the task is due.';

COMMENT ON COLUMN dogged.tasks_live.next_retry_at IS 'The next attempt does not begin before this time. Set for a retry, or for a task that was deferred because its circuit is open or its queue''s retry budget is spent. The value stays while that attempt runs.';

COMMENT ON COLUMN dogged.tasks_live.attempt IS 'The number of attempts begun. While the task runs, the number of the current attempt.';

COMMENT ON COLUMN dogged.tasks_live.retry_count IS 'Retries spent; a lost, interrupted or snoozed attempt spends none.';

COMMENT ON COLUMN dogged.tasks_live.losses IS 'Attempts that ended because their worker died.';

COMMENT ON COLUMN dogged.tasks_live.worker_id IS 'The worker that holds the running task, or that ran the task last: workers.id.';

COMMENT ON COLUMN dogged.tasks_live.claimed_at IS 'When a worker last claimed the task.';

COMMENT ON COLUMN dogged.tasks_live.finished_at IS 'When the task ended; null while the task is pending or running.';

COMMENT ON COLUMN dogged.tasks_live.result IS 'The handler''s return value, as JSON; null unless the task succeeded.';

COMMENT ON COLUMN dogged.tasks_live.error_code IS 'The error code of the last failed attempt.';

COMMENT ON COLUMN dogged.tasks_live.error_message IS 'The error message of the last failed attempt.';

COMMENT ON COLUMN dogged.tasks_live.trace_context IS 'The trace context, as the producer gave it; copied to attempts that are no root of a trace.';

COMMENT ON COLUMN dogged.tasks_live.ready_position IS 'The task''s place among the ready tasks of its queue and priority; null: its id is its place. A task that fell due has a number from the sequence of the ids. A task that was released to run again at once has a number before all of those.';

COMMENT ON COLUMN dogged.tasks_live.expires_at IS 'No attempt begins after this time. A task that is still pending then ends as expired. Null: the task does not expire.';

COMMENT ON COLUMN dogged.tasks_live.tags IS 'Words that the producer gave the task, for people to find the task by; null: none.';

COMMENT ON COLUMN dogged.tasks_live.parent_id IS 'The parent: the task of the handler that enqueued this one, or the task that the producer named. Null: none. Retention may have dropped the parent.';

COMMENT ON COLUMN dogged.tasks_live.args_version IS 'The version of the args, as the producer''s key or call named it; null: 1. Only a worker that knows this version or a later one runs the task.';

COMMENT ON COLUMN dogged.tasks_live.snoozes IS 'Attempts that ended because the handler snoozed, since the task was enqueued or replayed; null: none.';

COMMENT ON COLUMN dogged.tasks_live.unique_key IS 'The key of a unique task (dogged.unique_keys), as the producer gave it, or the hash of the args that it covers; null: the task is not unique.';

COMMENT ON COLUMN dogged.tasks_live.cancel_requested_at IS 'When dogged.cancel was called while an attempt ran. The worker asks the handler to stop. Unless the attempt succeeds all the same, the task ends as cancelled.';

CREATE FUNCTION dogged.change_holder(task dogged.tasks_live, args jsonb, on_conflict dogged.unique_conflict, latest interval, run_at timestamp with time zone, expires_at timestamp with time zone, args_version integer, number integer) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
  max_args_bytes constant integer := (select s.max_args_bytes from dogged.settings s);
  awaits_first_run constant boolean := task.attempt = 0 and task.next_retry_at is null;
  moves constant boolean := awaits_first_run and on_conflict in ('reschedule', 'debounce', 'debounce_merge');
  expiry constant timestamptz := case when awaits_first_run then coalesce(change_holder.expires_at, task.expires_at) else task.expires_at end;
  due constant timestamptz :=
    case when moves then greatest(least(coalesce(change_holder.run_at, now()), task.enqueued_at + latest), now()) else task.run_at end;
  waits constant boolean := due > now();
  what constant text := dogged.task_in_call(task.name, number);
  changed constant jsonb := case when on_conflict in ('replace_args', 'debounce') then change_holder.args
                                 when on_conflict in ('merge_args', 'debounce_merge') then dogged.merged_args(task.args, change_holder.args)
                                 else task.args end;
begin
  if not dogged.is_sound_task(task.name, change_holder.run_at, null, null, change_holder.expires_at, null, null,
                              change_holder.args_version) then
    perform dogged.refuse_task(task.name, change_holder.args, task.queue, change_holder.run_at, null, null,
                               change_holder.expires_at, null, null, change_holder.args_version, number);
  end if;
  if (dogged.json_bytes(changed, max_args_bytes) <= max_args_bytes) is not true then
    raise exception '%: with the args of task % its args have % bytes as JSON; the limit is %', what, task.id,
      coalesce(dogged.json_bytes(changed, max_args_bytes)::text, 'many more'), max_args_bytes
      using hint = 'Nothing was changed. Enqueue it under another unique key, or raise dogged.settings.max_args_bytes.',
            errcode = 'invalid_parameter_value';
  end if;
  if awaits_first_run and due >= expiry then
    raise exception '%: the run_at % of task %, which holds its key, would not be before its expires_at %', what, due,
      task.id, expiry
      using hint = 'Give a later expires_at. Nothing was changed.', errcode = 'invalid_parameter_value';
  end if;
  update dogged.tasks_live t
     set args = changed,
         args_version = case when on_conflict = 'reschedule' then t.args_version else nullif(change_holder.args_version, 1) end,
         run_at = due,
         expires_at = expiry,
         deferred = case when moves then waits else t.deferred end,
         -- A task that becomes ready takes a new place, as in dogged.reschedule. A task whose args get another version takes one
         -- too: workers that know only the new version have passed the old place.
         ready_position = case when (moves and t.deferred and not waits)
                                    or (on_conflict <> 'reschedule' and t.args_version is distinct from nullif(change_holder.args_version, 1))
                               then nextval('dogged.tasks_id_seq') else t.ready_position end
   where t.id = task.id;
  -- A sleeping worker knows only the earliest due time as of when it fell asleep.
  if moves and due < task.run_at
     and (current_setting('transaction_isolation') <> 'read committed'
          or exists (select from dogged.workers w where w.asleep and w.queues ? task.queue)) then
    perform pg_notify('dogged.wake', task.queue);
  end if;
end $$;

COMMENT ON FUNCTION dogged.change_holder(task dogged.tasks_live, args jsonb, on_conflict dogged.unique_conflict, latest interval, run_at timestamp with time zone, expires_at timestamp with time zone, args_version integer, number integer) IS 'Internal: changes the args, the first run and the expiry of a pending task that holds a unique key, as on_conflict says.';

CREATE FUNCTION dogged.change_of_offset(before timestamp with time zone, until timestamp with time zone, time_zone text) RETURNS timestamp with time zone
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
  offset_before constant interval := dogged.offset_at(before, time_zone);
  earliest bigint := floor(extract(epoch from before));
  latest bigint := ceil(extract(epoch from until));
  middle bigint;
begin
  while latest - earliest > 1 loop
    middle := (earliest + latest) / 2;
    if dogged.offset_at(to_timestamp(middle), time_zone) = offset_before then earliest := middle; else latest := middle; end if;
  end loop;
  return to_timestamp(latest);
end $$;

COMMENT ON FUNCTION dogged.change_of_offset(before timestamp with time zone, until timestamp with time zone, time_zone text) IS 'Internal: when the clock was changed between two moments of different offsets.';

CREATE FUNCTION dogged.compile_every(spec text, duration text) RETURNS dogged.compiled_spec
    LANGUAGE plpgsql IMMUTABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $_$
declare
  compiled dogged.compiled_spec;
  parts constant text[] := regexp_match(compile_every.duration, '^(?:([0-9]{1,9})d)?(?:([0-9]{1,9})h)?(?:([0-9]{1,9})m)?(?:([0-9]{1,9})s)?$');
begin
  compiled.every_seconds := coalesce(parts[1]::bigint, 0) * 86400 + coalesce(parts[2]::bigint, 0) * 3600
                            + coalesce(parts[3]::bigint, 0) * 60 + coalesce(parts[4]::bigint, 0);
  if parts is null or compiled.every_seconds not between 1 and 366 * 86400 then
    perform dogged.refuse_spec(spec, format('"%s" is not a duration from 1s to 366d', left(compile_every.duration, 30)),
                               'Write every 90s, every 15m, every 1h30m or every 7d.');
  end if;
  return compiled;
end $_$;

COMMENT ON FUNCTION dogged.compile_every(spec text, duration text) IS 'Internal: compiles a spec that begins with `every`.';

CREATE FUNCTION dogged.compile_spec(spec text) RETURNS dogged.compiled_spec
    LANGUAGE plpgsql IMMUTABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $_$
declare
  compiled dogged.compiled_spec;
  written constant text := regexp_replace(btrim(compile_spec.spec), '\s+', ' ', 'g');
  fields text[];
begin
  if coalesce(written, '') = '' or octet_length(compile_spec.spec) > 256 then
    raise exception 'a schedule''s spec is %', case when compile_spec.spec is null then 'null' when written = '' then 'empty'
                                                    else format('%s bytes long; the limit is 256', octet_length(compile_spec.spec)) end
      using errcode = 'invalid_parameter_value', hint = 'Write a spec such as 0 3 * * *, @daily or every 90s.';
  elsif written ~* '^every( |$)' then
    return dogged.compile_every(spec, replace(lower(substr(written, 7)), ' ', ''));
  end if;
  fields := string_to_array(case lower(written) when '@yearly' then '0 0 1 1 *' when '@annually' then '0 0 1 1 *'
                                                when '@monthly' then '0 0 1 * *' when '@weekly' then '0 0 * * 0'
                                                when '@daily' then '0 0 * * *' when '@midnight' then '0 0 * * *'
                                                when '@hourly' then '0 * * * *' else written end, ' ');
  if fields[1] like '@%' then
    perform dogged.refuse_spec(spec, 'this name is not known', 'There are @hourly, @daily, @weekly, @monthly and @yearly.');
  elsif cardinality(fields) not in (5, 6) then
    perform dogged.refuse_spec(spec, format('it has %s field%s, not 5 or 6', cardinality(fields), case when cardinality(fields) > 1 then 's' else '' end),
                               'Write minute, hour, day of month, month and day of week; with six, the second comes first.');
  end if;
  if cardinality(fields) = 5 then fields := array_prepend('0', fields); end if;
  compiled.seconds := dogged.cron_field(spec, 'second', fields[1], 0, 59);
  compiled.minutes := dogged.cron_field(spec, 'minute', fields[2], 0, 59);
  compiled.hours := dogged.cron_field(spec, 'hour', fields[3], 0, 23);
  compiled.days := dogged.cron_days(spec, fields[4]);
  compiled.months := dogged.cron_field(spec, 'month', fields[5], 1, 12, 'JAN FEB MAR APR MAY JUN JUL AUG SEP OCT NOV DEC');
  compiled.weekdays := dogged.cron_weekdays(spec, fields[6]);
  compiled.is_either_day := left(fields[4], 1) <> '*' and left(fields[6], 1) <> '*';
  compiled.is_by_elapsed_time := left(fields[3], 1) = '*';
  return compiled;
end $_$;

COMMENT ON FUNCTION dogged.compile_spec(spec text) IS 'What a spec means, for dogged.next_tick: cron with five or six fields, @daily and its like, or every 90s. An error names the field, the value and the range.';

CREATE FUNCTION dogged.complete_in(task_id bigint, attempt integer, worker_id bigint, result jsonb, ran_us bigint, own_trace text DEFAULT NULL::text) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
#variable_conflict use_column
declare
  -- Unlike elsewhere not now(): the caller's transaction may have begun long before the handler ended.
  ended_at constant timestamptz := clock_timestamp();
  began_at constant timestamptz := ended_at - ran_us * interval '1 microsecond';
begin
  with held as (
    delete from dogged.tasks_live live
     where live.id = complete_in.task_id and live.attempt = complete_in.attempt
       and live.status = 'running'
       and live.worker_id = complete_in.worker_id
    returning *
  ), finished as (
    insert into dogged.tasks_done (id, status, queue, name, priority, args, enqueued_at, run_at, attempt, retry_count, losses,
                              worker_id, claimed_at, finished_at, result, error_code, error_message, trace_context,
                              cancel_requested_at, expires_at, tags, parent_id, args_version, snoozes, unique_key)
    select id, 'succeeded', queue, name, priority, args, enqueued_at, run_at, attempt, retry_count, losses, worker_id,
           claimed_at, ended_at, complete_in.result, null, null, trace_context, cancel_requested_at, expires_at, tags,
           parent_id, args_version, snoozes, unique_key
      from held
  )
  insert into dogged.task_attempts (task_id, attempt, name, queue, outcome, worker_id, claimed_at, started_at,
                                    finished_at, will_retry, trace_context)
  select id, attempt, name, queue, 'succeeded', worker_id, claimed_at, greatest(claimed_at, began_at),
         ended_at, false, coalesce(own_trace, trace_context)
    from held;
  if not found then
    perform dogged.refuse_completion(complete_in.task_id, complete_in.attempt, complete_in.worker_id);
  end if;
end $$;

COMMENT ON FUNCTION dogged.complete_in(task_id bigint, attempt integer, worker_id bigint, result jsonb, ran_us bigint, own_trace text) IS 'Internal: ends a running attempt as succeeded in the caller''s transaction, for Context::complete_in. ran_us: how long the handler has run; own_trace: the trace context of an attempt that is the sampled root of a trace. Raises LE001 if the worker no longer holds this attempt. Then nothing of the transaction commits.';

CREATE FUNCTION dogged.create_queue(name text) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
  perform dogged.require_queue_name(create_queue.name);
  -- Looks first, because an insert would wait for a transaction that has changed the queue's row and not committed.
  if not exists (select from dogged.queues q where q.name = create_queue.name) then
    insert into dogged.queues (name) values (create_queue.name) on conflict do nothing;
  end if;
end $$;

COMMENT ON FUNCTION dogged.create_queue(name text) IS 'Creates a queue, so that tasks can be enqueued to it. Does nothing if the queue exists.';

CREATE FUNCTION dogged.create_schedule(name text, settings jsonb) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
  perform dogged.require_schedule_name(create_schedule.name);
  if exists (select from dogged.schedules s where s.name = create_schedule.name) then
    perform dogged.refuse_schedule(name, 'it exists already', 'Nothing was changed. dogged.set_schedule(name, settings), or dogged schedules set NAME, changes it.');
  end if;
  perform dogged.put_schedule(name, settings);
  perform dogged.record_audit('create_schedule', null, jsonb_build_object('schedule', name, 'settings', settings));
end $$;

COMMENT ON FUNCTION dogged.create_schedule(name text, settings jsonb) IS 'Creates a schedule with settings as dogged.set_schedule takes them; task and spec are required. Raises an error if it exists.';

CREATE FUNCTION dogged.cron_days(spec text, list text) RETURNS bigint
    LANGUAGE plpgsql IMMUTABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
  element text;
  days bigint := 0;
begin
  foreach element in array string_to_array(list, ',') loop
    days := days | case when upper(element) = 'L' then 1 else dogged.cron_element(spec, 'day-of-month', element, 1, 31, '') end;
  end loop;
  return days;
end $$;

COMMENT ON FUNCTION dogged.cron_days(spec text, list text) IS 'Internal: the days of the month of a spec; 0 stands for L, the last day.';

CREATE FUNCTION dogged.cron_element(spec text, field text, element text, lowest integer, most integer, names text) RETURNS bigint
    LANGUAGE plpgsql IMMUTABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $_$
declare
  parts constant text[] := string_to_array(cron_element.element, '/');
  bounds constant text[] := case when parts[1] <> '' then string_to_array(parts[1], '-') else '{""}' end;
  from_number integer := lowest;
  to_number integer := most;
  step integer := 1;
  numbers bigint := 0;
begin
  if cardinality(parts) > 2 or cardinality(bounds) > 2 then
    perform dogged.refuse_spec(spec, format('its %s field has "%s"', field, left(element, 30)), 'Write a range as 1-5 and its step as 1-30/2.');
  end if;
  if parts[1] is distinct from '*' then
    from_number := dogged.cron_number(spec, field, bounds[1], lowest, most, names);
    to_number := case when cardinality(bounds) = 2 then dogged.cron_number(spec, field, bounds[2], lowest, most, names)
                      else from_number end;
    if to_number < from_number then
      perform dogged.refuse_spec(
        spec, format('its %s field has the range "%s", which ends before it begins', field, parts[1]),
        format('Write it as two: %s-%s,%s-%s.', from_number, most, lowest, to_number));
    end if;
  end if;
  if cardinality(parts) = 2 then
    if parts[2] !~ '^[0-9]{1,4}$' or parts[2]::integer not between 1 and most - lowest + 1 then
      perform dogged.refuse_spec(
        spec, format('its %s field has the step "%s", which is not from 1 to %s', field, left(parts[2], 30), most - lowest + 1),
        'Give a step that the field has room for, as in */2.');
    elsif parts[1] <> '*' and cardinality(bounds) = 1 then
      perform dogged.refuse_spec(spec, format('its %s field has "%s", a step without a range', field, element),
                                 format('Write %s-%s/%s.', from_number, most, parts[2]));
    end if;
    step := parts[2];
  end if;
  for number in from_number .. to_number by step loop
    numbers := numbers | (1::bigint << number);
  end loop;
  return numbers;
end $_$;

COMMENT ON FUNCTION dogged.cron_element(spec text, field text, element text, lowest integer, most integer, names text) IS 'Internal: the numbers of one element of a field''s list.';

CREATE FUNCTION dogged.cron_field(spec text, field text, list text, lowest integer, most integer, names text DEFAULT ''::text) RETURNS bigint
    LANGUAGE plpgsql IMMUTABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
  element text;
  numbers bigint := 0;
begin
  foreach element in array string_to_array(list, ',') loop
    numbers := numbers | dogged.cron_element(spec, field, element, lowest, most, names);
  end loop;
  return numbers;
end $$;

COMMENT ON FUNCTION dogged.cron_field(spec text, field text, list text, lowest integer, most integer, names text) IS 'Internal: the numbers of a field of a spec.';

CREATE FUNCTION dogged.cron_number(spec text, field text, value text, lowest integer, most integer, names text) RETURNS integer
    LANGUAGE plpgsql IMMUTABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $_$
declare
  named constant integer := array_position(string_to_array(cron_number.names, ' '), upper(cron_number.value));
begin
  if named is not null then return named + case when cron_number.field = 'month' then 0 else -1 end; end if;
  if cron_number.value !~ '^[0-9]{1,4}$' then
    perform dogged.refuse_spec(
      spec, format('its %s field has "%s", which is not a number', field, left(cron_number.value, 30)),
      case when cron_number.value like '%?%' then 'Write * for any value.'
           else format('Write numbers from %s to %s%s, ranges as %s-%s, lists as %s,%s, steps as */2, or *.%s', lowest, most,
                       case when names <> '' then ', or ' || names else '' end, lowest, lowest + 1, lowest, lowest + 1,
                       case field when 'day-of-month' then ' L is the last day; there are no days before it (L-3) and no nearest weekdays (15W).'
                                  when 'day-of-week' then ' 5L is the last Friday of the month, 5#2 the second.' else '' end) end);
  elsif cron_number.value::integer not between lowest and most then
    perform dogged.refuse_spec(spec, format('its %s field has %s, which is not from %s to %s', field, cron_number.value, lowest, most),
                               format('Give a number from %s to %s.', lowest, most));
  end if;
  return cron_number.value::integer;
end $_$;

COMMENT ON FUNCTION dogged.cron_number(spec text, field text, value text, lowest integer, most integer, names text) IS 'Internal: the number or the name that an element of a field gives.';

CREATE FUNCTION dogged.cron_weekdays(spec text, list text) RETURNS bigint
    LANGUAGE plpgsql IMMUTABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $_$
declare
  names constant text := 'SUN MON TUE WED THU FRI SAT';
  element text;
  parts text[];
  weekdays bigint := 0;
begin
  foreach element in array string_to_array(list, ',') loop
    parts := regexp_match(element, '^([0-9]{1,4}|[A-Za-z]{3})(?:#(.*)|[Ll])$');
    if parts is null then
      weekdays := weekdays | dogged.cron_element(spec, 'day-of-week', element, 0, 7, names);
      weekdays := (weekdays | ((weekdays >> 7) & 1)) & ~128::bigint;  -- 7 is Sunday too
    elsif parts[2] is not null and parts[2] !~ '^[1-5]$' then
      perform dogged.refuse_spec(spec, format('its day-of-week field has "%s", and a month has the 1st to the 5th of a weekday', left(element, 30)),
                                 'Write 5#2 for the second Friday of the month, 5L for the last.');
    else
      weekdays := weekdays | (1::bigint << (8 * coalesce(parts[2]::integer, 6)
                                            + dogged.cron_number(spec, 'day-of-week', parts[1], 0, 7, names) % 7));
    end if;
  end loop;
  return weekdays;
end $_$;

COMMENT ON FUNCTION dogged.cron_weekdays(spec text, list text) IS 'Internal: the weekdays of a spec.';

CREATE FUNCTION dogged.days_of_open_ticks(day date, keep_days integer) RETURNS integer
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
  today constant date := (clock_timestamp() at time zone 'UTC')::date;
begin
  if day + keep_days >= today then return 0; end if;
  return (select coalesce(max(case when t.outcome = 'waiting' then today else (t.skipped_until at time zone 'UTC')::date end), days_of_open_ticks.day)
                 - days_of_open_ticks.day
            from dogged.schedule_ticks t
           where t.scheduled_at >= day::timestamp at time zone 'UTC' and t.scheduled_at < (day + 1)::timestamp at time zone 'UTC'
             and (t.outcome = 'waiting' or t.skipped_until is not null));
end $$;

COMMENT ON FUNCTION dogged.days_of_open_ticks(day date, keep_days integer) IS 'Internal: for how many days more a day of ticks is kept, because a tick of it waits or a row of it stands for ticks up to a later day.';

CREATE FUNCTION dogged.days_to_make(parent text) RETURNS SETOF date
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'on'
    AS $_$
declare
  today constant date := (clock_timestamp() at time zone 'UTC')::date;
begin
  return query select today + days from generate_series(-1, (select partition_days_ahead from dogged.settings)) as days;
  -- At most 31 days in one call, the latest first. Rows older than every retention period stay where they are. A wrong
  -- clock or a worker's login may have written them, and their days would need thousands of partitions.
  return query execute format(
    'select distinct (d.%1$I at time zone ''UTC'')::date as day
       from dogged.%2$I d
      where d.%1$I >= $1 and d.%1$I < $2
      order by day desc limit 31', dogged.moment_of_partitions(parent), parent || '_default')
    using (today - 31 - (select greatest(s.keep_done_days, s.keep_failed_days, s.keep_attempts_days, s.keep_ticks_days, s.keep_events_days,
                                         (select max(greatest(q.keep_done_days, q.keep_failed_days)) from dogged.queues q))
                           from dogged.settings s))::timestamp at time zone 'UTC',
          (today - 1)::timestamp at time zone 'UTC';
end $_$;

COMMENT ON FUNCTION dogged.days_to_make(parent text) IS 'Internal: the days for which a partitioned table needs a partition: the coming days, and older days with rows in its default partition.';

CREATE FUNCTION dogged.dead_letter_matches(letter_id bigint, letter_name text, letter_queue text, letter_code text, letter_message text, failed_at timestamp with time zone, letter_tags text[], name text, queue text, error_code text, message text, failed_after timestamp with time zone, failed_before timestamp with time zone, ids bigint[], tags text[]) RETURNS boolean
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN (((name IS NULL) OR (letter_name = name)) AND ((queue IS NULL) OR (letter_queue = queue)) AND ((error_code IS NULL) OR (letter_code = error_code)) AND ((message IS NULL) OR (letter_message ~ message)) AND ((failed_after IS NULL) OR (failed_at >= failed_after)) AND ((failed_before IS NULL) OR (failed_at < failed_before)) AND ((ids IS NULL) OR (letter_id = ANY (ids))) AND ((tags IS NULL) OR (letter_tags @> tags)));

COMMENT ON FUNCTION dogged.dead_letter_matches(letter_id bigint, letter_name text, letter_queue text, letter_code text, letter_message text, failed_at timestamp with time zone, letter_tags text[], name text, queue text, error_code text, message text, failed_after timestamp with time zone, failed_before timestamp with time zone, ids bigint[], tags text[]) IS 'Internal: whether a dead letter matches the filter of `dogged dead`; a null filter matches all. message: a regular expression of PostgreSQL; failed_after is included, failed_before is not.';

CREATE FUNCTION dogged.dead_letter_standing(ids bigint[], attempts integer[]) RETURNS TABLE(id bigint, result text)
    LANGUAGE sql STABLE
    BEGIN ATOMIC
 SELECT a.id,
         CASE
             WHEN (t.id IS NULL) THEN 'not_found'::text
             WHEN (t.status <> 'failed'::dogged.task_status) THEN 'not_failed'::text
             WHEN (t.attempt <> a.attempt) THEN 'changed'::text
             ELSE 'locked'::text
         END AS "case"
    FROM (UNNEST(dead_letter_standing.ids, dead_letter_standing.attempts) a(id, attempt)
      LEFT JOIN ( SELECT s.id,
             s.status,
             s.attempt
            FROM dogged.tasks s
           WHERE (s.id = ANY (dead_letter_standing.ids))) t ON ((t.id = a.id)));
END;

COMMENT ON FUNCTION dogged.dead_letter_standing(ids bigint[], attempts integer[]) IS 'Why tasks were not taken as dead letters. not_found; not_failed: the task has another status; changed: the task was replayed and has failed again, in another attempt than the named one; locked: another transaction is changing the task.';

CREATE FUNCTION dogged.decide_tick(schedule dogged.schedules, tick timestamp with time zone, overlap dogged.schedule_overlap, origin text) RETURNS bigint[]
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
  waiting integer;
begin
  if dogged.is_tick_decided(schedule.id, tick, overlap) then return schedule.live_tasks; end if;
  if overlap = 'cancel_other' then
    perform dogged.skip_waiting(schedule, 'superseded');
    schedule.live_tasks := dogged.cancel_tasks_of(schedule);
  end if;
  if cardinality(schedule.live_tasks) = 0 or overlap = 'allow_all' then
    return array_remove(schedule.live_tasks || dogged.start_tick(schedule, tick, origin), null);
  end if;
  waiting := (select count(*) from dogged.schedule_ticks t where t.schedule_id = schedule.id and t.outcome = 'waiting');
  if overlap = 'skip' or (overlap = 'buffer_one' and waiting > 0) then
    perform dogged.note_tick(schedule, tick, 'skipped', 'overlap', origin);
  elsif waiting >= 1000 then
    perform dogged.note_tick(schedule, tick, 'skipped', 'full', origin);
  else
    perform dogged.note_tick(schedule, tick, 'waiting', null, origin);
  end if;
  return schedule.live_tasks;
end $$;

COMMENT ON FUNCTION dogged.decide_tick(schedule dogged.schedules, tick timestamp with time zone, overlap dogged.schedule_overlap, origin text) IS 'Internal: starts a tick, lets it wait or skips it, by the schedule''s tasks that are alive; returns those that are alive afterwards.';

CREATE FUNCTION dogged.declare_schedules(worker_id bigint, declarations jsonb) RETURNS TABLE(name text, outcome text, in_force jsonb, others bigint)
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET lock_timeout TO '500ms'
    AS $$
#variable_conflict use_column
declare
  declaration record;
  newest record;
  renamed jsonb;
begin
  perform from dogged.locks l where l.name = 'schedules' for update;
  update dogged.workers w set schedules = declarations where w.id = declare_schedules.worker_id and w.schedules is distinct from declarations;
  insert into dogged.schedule_declarations (name, settings)
  select d.key, d.value from jsonb_each(declarations) d
   where not exists (select from dogged.schedule_declarations known where known.name = d.key and known.settings = d.value);
  for declaration in select d.key, d.value from jsonb_each(declarations) d order by d.key loop
    newest := dogged.declared_now(declaration.key);
    continue when newest.settings is null;  -- another worker has ended the lease of this one
    renamed := dogged.renamed_schedule(declaration.key, newest.first_seen_at);
    outcome := case when renamed is null then dogged.adopt_declaration(declaration.key, newest.settings, newest.first_seen_at) end;
    name := declaration.key;
    in_force := coalesce(renamed, newest.settings);
    if in_force <> declaration.value then outcome := 'outvoted'; end if;
    in_force := jsonb_set(in_force, '{args}', dogged.redacted(in_force ->> 'task', in_force -> 'args'));
    others := (select count(*) from dogged.workers w
                where w.schedules -> declaration.key <> declaration.value and w.stopped_at is null and w.lease_ended_at is null);
    return next;
  end loop;
end $$;

COMMENT ON FUNCTION dogged.declare_schedules(worker_id bigint, declarations jsonb) IS 'Says for a worker which schedules its program declares, as {"nightly": {"spec": "0 3 * * *", …}}, with settings as dogged.set_schedule takes them, and puts the newest declaration of each in force. outcome: created, changed or unchanged; outvoted: a newer declaration is in force. in_force: the declaration that counts, with redacted args. others: how many live workers declare the schedule otherwise. Error 55P03: another transaction has locked a schedule, or other workers are declaring theirs; nothing was declared.';

CREATE FUNCTION dogged.declared_now(name text, OUT settings jsonb, OUT first_seen_at timestamp with time zone) RETURNS record
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
  select d.settings, d.first_seen_at into settings, first_seen_at
    from dogged.schedule_declarations d
   where d.name = declared_now.name
     and exists (select from dogged.workers w
                  where w.schedules -> declared_now.name = d.settings and w.stopped_at is null and w.lease_ended_at is null)
   order by d.first_seen_at desc limit 1;
end $$;

COMMENT ON FUNCTION dogged.declared_now(name text, OUT settings jsonb, OUT first_seen_at timestamp with time zone) IS 'Internal: the declaration of a schedule that is in force: of those that live workers make, the one that was first seen last.';

CREATE FUNCTION dogged.delete_queue(name text) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
  queue constant dogged.queues := dogged.lock_queues(delete_queue.name);
  held integer;
  dead integer;
  schedules text;
begin
  if queue.name = 'default' then
    raise exception 'the queue "default" cannot be deleted: tasks go there that name no queue'
      using errcode = 'invalid_parameter_value', hint = 'dogged.pause_queue(name) stops workers from claiming its tasks.';
  end if;
  perform dogged.require_not_served(queue.name);
  -- With one snapshot: a replay that commits meanwhile makes a live task of a dead letter, and must not escape both counts.
  select dogged.held_of_queue(queue.name, 1000001),
         (select count(*) from (select from dogged.tasks_failed f where f.queue = delete_queue.name limit 1000001) d)
    into held, dead;
  if held > 0 or dead > 0 then
    raise exception 'the queue "%" is not empty: %', queue.name,
      concat_ws(' and ', case when held > 0 then format('%s task%s that %s not ended', held, case when held <> 1 then 's' end,
                                                         case when held = 1 then 'has' else 'have' end) end,
                         case when dead > 0 then format('%s dead letter%s', dead, case when dead <> 1 then 's' end) end)
      using errcode = 'object_in_use',
            hint = 'Nothing has changed. dogged.move_queue(from_queue, to_queue) moves them to another queue; '
                   'dogged.cancel(id) and dogged.purge(id) end them.';
  end if;
  select string_agg(format('"%s"', s.name), ', ' order by s.name) into schedules
    from (select s.name from dogged.schedules s where s.queue = delete_queue.name order by s.name limit 10) s;
  if schedules is not null then
    raise exception 'schedules enqueue to the queue "%": %', queue.name, schedules
      using errcode = 'object_in_use',
            hint = 'Nothing has changed. Give them another queue (dogged schedules set NAME --queue QUEUE), or delete them.';
  end if;
  delete from dogged.queues q where q.name = queue.name;
  perform dogged.record_audit('delete_queue', null, jsonb_build_object('queue', queue.name, 'before', to_jsonb(queue)));
end $$;

COMMENT ON FUNCTION dogged.delete_queue(name text) IS 'Deletes an empty queue that no worker serves and no schedule names, with its settings. Otherwise raises an error with the reason. Tasks that have ended keep the queue''s name.';

CREATE FUNCTION dogged.delete_schedule(name text) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
  schedule constant dogged.schedules := dogged.lock_schedule(delete_schedule.name);
begin
  perform dogged.require_undeclared(name, 'Take its TASK_SCHEDULE out of the program first, or pause the schedule.');
  perform dogged.skip_waiting(schedule, 'deleted');
  delete from dogged.schedules s where s.id = schedule.id;
  perform dogged.record_audit('delete_schedule', null, jsonb_build_object('schedule', name, 'before', to_jsonb(schedule) - 'compiled'));
end $$;

COMMENT ON FUNCTION dogged.delete_schedule(name text) IS 'Deletes a schedule. Its ticks stay until retention drops them, and tasks that it has enqueued run. Raises an error while the program of a live worker declares it.';

CREATE FUNCTION dogged.drop_oldest_day(parent text, OUT partition text, OUT outcome text, OUT rows_kept bigint) RETURNS record
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET lock_timeout TO '200ms'
    AS $$
declare
  due record;
begin
  if parent is null or parent not in ('tasks_done', 'tasks_failed', 'task_attempts', 'task_steps', 'schedule_ticks', 'events') then
    raise exception '% is not a table that retention drops days of', coalesce(quote_literal(parent), 'null')
      using errcode = 'invalid_parameter_value', hint = 'Write tasks_done, tasks_failed, task_attempts, task_steps, schedule_ticks or events. Nothing was dropped.';
  end if;
  perform dogged.require_read_committed();
  perform from dogged.locks l where l.name = 'partitions' for update skip locked;
  if not found then
    outcome := 'busy';
    return;
  end if;
  select p.partition, p.day into due
    from dogged.partitions p
   where p.parent = drop_oldest_day.parent and not p.is_kept and p.kept_until <= clock_timestamp()
   order by p.day limit 1;
  if not found then
    outcome := 'nothing';
    return;
  end if;
  partition := due.partition;
  -- Attempts and steps wait while tasks of that day still exist, because their own day could not be dropped.
  if parent in ('task_attempts', 'task_steps') and exists (
       select from dogged.partitions p
        where p.parent = 'tasks_done' and not p.is_kept and p.kept_until <= clock_timestamp() and p.day <= due.day) then
    outcome := 'postponed';
    return;
  end if;
  begin
    if parent in ('task_attempts', 'task_steps')
       or (parent in ('tasks_done', 'tasks_failed') and cardinality(dogged.queues_keeping(parent, due.day)) > 0) then
      rows_kept := dogged.keep_rows_of_day(parent, due.partition, due.day);
    else
      execute format('lock table only dogged.%I in access exclusive mode', parent);
      execute format('drop table dogged.%I', due.partition);
    end if;
    if parent = 'schedule_ticks' then
      update dogged.settings set ticks_since = greatest(ticks_since, due.day + 1);
    end if;
    outcome := 'dropped';
  exception when lock_not_available then
    rows_kept := null;
    outcome := 'postponed';
  end;
end $$;

COMMENT ON FUNCTION dogged.drop_oldest_day(parent text, OUT partition text, OUT outcome text, OUT rows_kept bigint) IS 'Drops the oldest day of tasks_done, tasks_failed, task_attempts, task_steps, schedule_ticks or events if dogged.settings no longer keeps that day. outcome: dropped; nothing: no day is due; postponed: the table was in use for longer than 200 ms, or the tasks of a day of attempts or steps still exist; busy: another call holds the lock. rows_kept: the number of rows that stay: tasks of queues with a longer setting, or attempts and steps whose task still exists.';

CREATE FUNCTION dogged.emit(name text, payload jsonb DEFAULT 'null'::jsonb) RETURNS bigint
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $_$
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
end $_$;

COMMENT ON FUNCTION dogged.emit(name text, payload jsonb) IS 'Sends an event to all tasks that wait for its name (Context::wait_event), in the caller''s transaction; returns how many that resumes. A task that waits later finds the event too, for settings.keep_events_days; of several of a name the latest. Waits for the name begin once the transaction has ended, so emit at its end. Needs READ COMMITTED.';

CREATE FUNCTION dogged.end_enqueue_of_old_snapshot(queues text[]) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
  perform from dogged.queues q where q.name = any (end_enqueue_of_old_snapshot.queues) order by q.name for key share;
  perform pg_notify('dogged.wake', q.name) from (select distinct u.name from unnest(end_enqueue_of_old_snapshot.queues) as u (name)) q;
end $$;

COMMENT ON FUNCTION dogged.end_enqueue_of_old_snapshot(queues text[]) IS 'Internal: for an enqueue or a move whose transaction is not READ COMMITTED. The function raises 40001 if one of the queues is gone. Otherwise none of them can be deleted until the transaction ends. The function wakes their workers.';

CREATE FUNCTION dogged.end_expired(ids bigint[]) RETURNS TABLE(id bigint, name text, queue text)
    LANGUAGE sql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
  with removed as (
    delete from dogged.tasks_live t
     where t.id = any (end_expired.ids) and t.status = 'pending' and t.expires_at <= clock_timestamp()
    returning t.*
  )
  insert into dogged.tasks_done (id, status, queue, name, priority, args, enqueued_at, run_at, attempt, retry_count, losses,
                                 worker_id, claimed_at, finished_at, error_code, error_message, trace_context,
                                 cancel_requested_at, expires_at, tags, parent_id, args_version, snoozes, unique_key)
  select r.id, 'expired', r.queue, r.name, r.priority, r.args, r.enqueued_at, r.run_at, r.attempt, r.retry_count, r.losses,
         r.worker_id, r.claimed_at, clock_timestamp(), r.error_code, r.error_message, r.trace_context,
         r.cancel_requested_at, r.expires_at, r.tags, r.parent_id, r.args_version, r.snoozes, r.unique_key
    from removed r
  returning id, name, queue
$$;

COMMENT ON FUNCTION dogged.end_expired(ids bigint[]) IS 'Internal: ends those of these tasks as expired that are pending after their expires_at, and returns them.';

CREATE FUNCTION dogged.enqueue(name text, args jsonb DEFAULT '{}'::jsonb, queue text DEFAULT NULL::text, run_at timestamp with time zone DEFAULT NULL::timestamp with time zone, priority integer DEFAULT 0, trace_context text DEFAULT NULL::text, expires_at timestamp with time zone DEFAULT NULL::timestamp with time zone, tags text[] DEFAULT NULL::text[], parent_id bigint DEFAULT NULL::bigint, args_version integer DEFAULT NULL::integer, producer uuid DEFAULT NULL::uuid, call bigint DEFAULT NULL::bigint) RETURNS bigint
    LANGUAGE plpgsql SECURITY DEFINER
    SET plan_cache_mode TO 'force_generic_plan'
    AS $$
#variable_conflict use_column
declare
  own_transaction constant pg_catalog.xid8 := pg_catalog.pg_current_xact_id();  -- before an id is taken, as in insert_many
  new_id pg_catalog.int8;
  queue_used pg_catalog.text;
  -- Asked within the insert: a statement of its own takes a hundredth of a call with its commit. The insert's snapshot will do:
  -- own_transaction comes first, so a worker that falls asleep later waits for the end of this transaction (fall_asleep.sql).
  may_have_sleeper pg_catalog.bool;
begin
  insert into dogged.tasks_live (queue, name, args, run_at, deferred, priority, trace_context, expires_at, tags, parent_id,
                                 args_version)
  select q.name, enqueue.name, enqueue.args, coalesce(enqueue.run_at, pg_catalog.now()),
         coalesce(enqueue.run_at operator(pg_catalog.>) pg_catalog.now(), false), coalesce(enqueue.priority, 0),
         enqueue.trace_context, enqueue.expires_at,
         case when pg_catalog.cardinality(enqueue.tags) operator(pg_catalog.>) 0 then enqueue.tags end, enqueue.parent_id,
         case when enqueue.args_version operator(pg_catalog.<>) 1 then enqueue.args_version end
    from dogged.queues q
   where q.name operator(pg_catalog.=) coalesce(enqueue.queue, (select d.queue from dogged.task_definitions d
                                                                 where d.name operator(pg_catalog.=) enqueue.name), 'default')
     and dogged.is_sound_task(enqueue.name, enqueue.run_at, enqueue.priority, enqueue.trace_context, enqueue.expires_at,
                              enqueue.tags, enqueue.parent_id, enqueue.args_version)
     and (select dogged.json_bytes(enqueue.args, s.max_args_bytes) operator(pg_catalog.<=) s.max_args_bytes
            from dogged.settings s)
     and (q.max_depth is null or dogged.has_room(q.name, q.max_depth, 1))
  returning id, queue, pg_catalog.current_setting('transaction_isolation') operator(pg_catalog.<>) 'read committed'
                       or exists (select from dogged.workers w where w.asleep and w.queues operator(pg_catalog.?) queue)
       into new_id, queue_used, may_have_sleeper;

  if new_id is null then
    perform dogged.refuse_task(
      enqueue.name, enqueue.args,
      coalesce(enqueue.queue, (select d.queue from dogged.task_definitions d
                                where d.name operator(pg_catalog.=) enqueue.name), 'default'),
      enqueue.run_at, coalesce(enqueue.priority, 0), enqueue.trace_context, enqueue.expires_at, enqueue.tags, enqueue.parent_id,
      enqueue.args_version);
  end if;

  if may_have_sleeper then
    if pg_catalog.current_setting('transaction_isolation') operator(pg_catalog.=) 'read committed' then
      perform pg_catalog.pg_notify('dogged.wake', queue_used);  -- as in insert_many
    else
      perform dogged.end_enqueue_of_old_snapshot(array[queue_used]);
    end if;
  end if;

  -- Does what note_call does, without the cost of entering another function.
  if enqueue.producer is not null and enqueue.call is not null then
    insert into dogged.producer_calls as last (producer, call, task_ids)
    values (enqueue.producer, enqueue.call, pg_catalog.int8multirange(pg_catalog.int8range(new_id, new_id, '[]')))
        on conflict on constraint producer_calls_pkey do update
       set call = excluded.call, task_ids = excluded.task_ids, answer = null, called_at = pg_catalog.now()
     where last.call operator(pg_catalog.<) excluded.call;
    if not found then perform dogged.refuse_call(enqueue.producer, enqueue.call); end if;
  elsif enqueue.producer is not null or enqueue.call is not null then
    perform dogged.refuse_call(enqueue.producer, enqueue.call);
  end if;
  return new_id;
end $$;

COMMENT ON FUNCTION dogged.enqueue(name text, args jsonb, queue text, run_at timestamp with time zone, priority integer, trace_context text, expires_at timestamp with time zone, tags text[], parent_id bigint, args_version integer, producer uuid, call bigint) IS 'Enqueues one task in the caller''s transaction and returns its id. queue: the queue that the task''s definition names, or default. run_at: at once. priority: lower runs first. expires_at: no attempt begins after this time; a task that is still pending then ends as expired. tags: words to find the task by, of A-Z a-z 0-9 . _ : / - with commas between them up to 512 bytes. parent_id: the task that this one belongs to; the parent may no longer exist. args_version: the version of the args in the task''s key; 1. producer, call: an idempotency key, by which a producer may repeat a call after its answer was lost. The producer counts its calls. Error 23505 says that this call, or a later one, is on record; dogged.call_made then gives the id. The record is removed when the producer has made no call for two days. Errors say what to change; nothing is enqueued then.';

CREATE FUNCTION dogged.enqueue_many(names text[], args jsonb[], queues text[] DEFAULT NULL::text[], run_ats timestamp with time zone[] DEFAULT NULL::timestamp with time zone[], priorities integer[] DEFAULT NULL::integer[], trace_contexts text[] DEFAULT NULL::text[], expires_ats timestamp with time zone[] DEFAULT NULL::timestamp with time zone[], tags text[] DEFAULT NULL::text[], parent_ids bigint[] DEFAULT NULL::bigint[], args_versions integer[] DEFAULT NULL::integer[]) RETURNS bigint[]
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
  return dogged.insert_many(names, args, queues, run_ats, priorities, trace_contexts, expires_ats, tags, parent_ids, args_versions);
end $$;

COMMENT ON FUNCTION dogged.enqueue_many(names text[], args jsonb[], queues text[], run_ats timestamp with time zone[], priorities integer[], trace_contexts text[], expires_ats timestamp with time zone[], tags text[], parent_ids bigint[], args_versions integer[]) IS 'Enqueues tasks in the caller''s transaction, all or none, and returns their ids in order. args has an element for each task. In every other array, element i belongs to task i. An array of one element applies to all tasks, which is faster. A null array or element means the default (see dogged.enqueue). tags: for each task the text of an array, as ''{eu,vip}''.';

CREATE FUNCTION dogged.enqueue_many_unique(names text[], args jsonb[], unique_keys text[] DEFAULT NULL::text[], unique_bys text[] DEFAULT NULL::text[], unique_whiles dogged.unique_while[] DEFAULT NULL::dogged.unique_while[], on_conflicts dogged.unique_conflict[] DEFAULT NULL::dogged.unique_conflict[], unique_periods interval[] DEFAULT NULL::interval[], latests interval[] DEFAULT NULL::interval[], queues text[] DEFAULT NULL::text[], run_ats timestamp with time zone[] DEFAULT NULL::timestamp with time zone[], priorities integer[] DEFAULT NULL::integer[], trace_contexts text[] DEFAULT NULL::text[], expires_ats timestamp with time zone[] DEFAULT NULL::timestamp with time zone[], tags text[] DEFAULT NULL::text[], parent_ids bigint[] DEFAULT NULL::bigint[], args_versions integer[] DEFAULT NULL::integer[]) RETURNS TABLE(id bigint, outcome text)
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET plan_cache_mode TO 'force_generic_plan'
    SET enable_nestloop TO 'off'
    SET array_nulls TO 'on'
    AS $$
#variable_conflict use_column
declare
  own_transaction constant xid8 := pg_current_xact_id();  -- before an id is taken, as in insert_many
  tasks constant integer := cardinality(enqueue_many_unique.args);
  name_of text[];
  key_of text[];
  ids bigint[];
  outcomes text[];
  firsts integer[];  -- positions: of undecided tasks with the same key the first
  drawn bigint[];    -- an id for each of them
  took bigint[];
  named integer[];   -- positions: of tasks that get the id of their holder, and leave the holder as it is
  holders bigint[];
  fresh integer[];   -- those of firsts that are to be inserted, as places in firsts
  untaken integer[];  -- positions: of tasks that are to meet the holder one by one
  their_ids bigint[];
  position integer;
  met record;
  without_key record;
begin
  perform dogged.refuse_arrays(
    jsonb_build_object('names', cardinality(names), 'unique_keys', cardinality(enqueue_many_unique.unique_keys),
                       'unique_bys', cardinality(unique_bys), 'unique_whiles', cardinality(unique_whiles),
                       'on_conflicts', cardinality(on_conflicts), 'unique_periods', cardinality(unique_periods),
                       'latests', cardinality(latests), 'queues', cardinality(queues), 'run_ats', cardinality(run_ats),
                       'priorities', cardinality(priorities), 'trace_contexts', cardinality(trace_contexts),
                       'expires_ats', cardinality(expires_ats), 'tags', cardinality(enqueue_many_unique.tags),
                       'parent_ids', cardinality(parent_ids), 'args_versions', cardinality(args_versions)),
    tasks);
  name_of := dogged.for_each(names, tasks);
  unique_keys := dogged.for_each(enqueue_many_unique.unique_keys, tasks);
  unique_bys := dogged.for_each(case when enqueue_many_unique.unique_keys is null then coalesce(unique_bys, array['{""}']) else unique_bys end, tasks);
  unique_whiles := dogged.for_each(coalesce(unique_whiles, '{live}'), tasks);
  on_conflicts := dogged.for_each(coalesce(on_conflicts, '{keep}'), tasks);
  unique_periods := dogged.for_each(unique_periods, tasks);
  latests := dogged.for_each(latests, tasks);
  perform dogged.require_unique_times(p.name, p.period, p.latest, p.on_conflict, p.position::integer)
     from unnest(name_of, unique_periods, latests, on_conflicts) with ordinality as p (name, period, latest, on_conflict, position)
    where p.period is not null or p.latest is not null;
  select g.name, g.position, g.option into without_key
    from (select u.name, u.position,
                 case when u.on_conflict <> 'keep' then 'the on_conflict ' || u.on_conflict
                      when u.unique_while <> 'live' then 'the unique_while ' || u.unique_while
                      when u.period is not null then 'the unique_period ' || u.period
                      when u.latest is not null then 'the latest ' || u.latest end as option
            from unnest(name_of, enqueue_many_unique.unique_keys, unique_bys, unique_whiles, on_conflicts, unique_periods, latests)
                   with ordinality as u (name, unique_key, by, unique_while, on_conflict, period, latest, position)
           where u.unique_key is null and u.by is null) g
   where g.option is not null order by g.position limit 1;
  if found then
    raise exception '%, has %, and neither a unique_key nor a unique_by',
      dogged.task_in_call(without_key.name, without_key.position::integer), without_key.option
      using hint = 'Give it one of the two, as the unique_by ''{""}'' for all args, or leave the option out for a task that is not unique. '
                   'Nothing was enqueued.',
            errcode = 'invalid_parameter_value';
  end if;
  run_ats := dogged.for_each(run_ats, tasks);
  expires_ats := dogged.for_each(expires_ats, tasks);
  args_versions := dogged.for_each(args_versions, tasks);
  begin
    key_of := array(select coalesce(g.unique_key, dogged.hashed_key(g.args, g.by::text[]))
                      from unnest(enqueue_many_unique.args, enqueue_many_unique.unique_keys, unique_bys)
                             with ordinality as g (args, unique_key, by, position)
                     order by g.position);
  exception when invalid_text_representation then
    perform dogged.refuse_unique_bys(name_of, unique_bys);
    raise;
  end;
  perform dogged.refuse_task(g.name, g.args, 'default', null, 0, null, null, null, null, null, g.position::integer)
     from unnest(name_of, enqueue_many_unique.args) with ordinality as g (name, args, position)
    where g.name is null or g.args is null or octet_length(g.name) > 128;
  perform dogged.refuse_key(g.name, g.args, g.unique_key, g.by::text[], g.position::integer)
     from unnest(name_of, enqueue_many_unique.args, enqueue_many_unique.unique_keys, unique_bys, key_of) with ordinality
            as g (name, args, unique_key, by, key, position)
    where octet_length(g.unique_key) not between 1 and 512 or (g.unique_key is null) = (g.by is null) and g.by is not null
       or (g.key is null and g.by is not null) or cardinality(g.by::text[]) > 16;
  ids := array_fill(null::bigint, array[tasks]);
  outcomes := array_fill(null::text, array[tasks]);

  loop
    firsts := array(select min(g.position)::integer
                      from unnest(name_of, key_of, ids) with ordinality as g (name, unique_key, id, position)
                     where g.id is null
                     group by g.name, g.unique_key, case when g.unique_key is null then g.position end
                     order by 1);
    exit when firsts = '{}';
    drawn := array(select nextval('dogged.tasks_id_seq') from generate_series(1, cardinality(firsts)));
    -- In the order of keys, so that two calls do not wait for each other. A failed insert gives up its keys before the
    -- other begins. Mostly all keys are new, and an insert without ON CONFLICT takes half as long.
    begin
      insert into dogged.unique_keys (name, unique_key, task_id, held_while, held_until)
      select name_of[f.position], key_of[f.position], f.id, coalesce(unique_whiles[f.position], 'live'),
             now() + unique_periods[f.position]
        from unnest(firsts, drawn) as f (position, id)
       where key_of[f.position] is not null
       order by name_of[f.position] collate "C", key_of[f.position] collate "C";
      took := array(select f.id from unnest(firsts, drawn) as f (position, id) where key_of[f.position] is not null);
    exception when unique_violation then
      with taken as (
        insert into dogged.unique_keys (name, unique_key, task_id, held_while, held_until)
        select name_of[f.position], key_of[f.position], f.id, coalesce(unique_whiles[f.position], 'live'),
               now() + unique_periods[f.position]
          from unnest(firsts, drawn) as f (position, id)
         where key_of[f.position] is not null
         order by name_of[f.position] collate "C", key_of[f.position] collate "C"
            on conflict do nothing
        returning task_id
      )
      select array_agg(t.task_id) into took from taken t;
    end;
    if coalesce(cardinality(took), 0) < cardinality(firsts) then  -- some keys are taken, or there are tasks without a key
      -- Most holders are only to be named, and need no lock. In a call of 1,000 one statement takes 15 us a task, and take_key 50. A
      -- subquery in a subquery pins the plan to both keys.
      select array_agg(f.position), array_agg(f.holder) into named, holders
        from (select f.position,
                     (select (select t.id from dogged.tasks_live t
                               where t.id = k.task_id and (t.status = 'pending' and t.expires_at <= clock_timestamp()) is not true)
                        from dogged.unique_keys k
                       where k.name = name_of[f.position] and k.unique_key = key_of[f.position]
                         and (now() >= k.taken_at + unique_periods[f.position]) is not true) as holder
                from unnest(firsts, drawn) as f (position, id)
                left join unnest(took) as t (id) on t.id = f.id
               where t.id is null and coalesce(unique_whiles[f.position], 'live') = 'live'
                 and coalesce(on_conflicts[f.position], 'keep') = 'keep'
              offset 0) f
       where f.holder is not null;
      for i in 1 .. coalesce(cardinality(named), 0) loop
        ids[named[i]] := holders[i];
        outcomes[named[i]] := 'existed';
      end loop;
      -- take_key would lock the holders in the order of keys. move_tasks and emit lock in the order of ids, so that could deadlock.
      holders := array(
        select (select k.task_id from dogged.unique_keys k
                 where k.name = name_of[f.position] and k.unique_key = key_of[f.position] and k.task_id <> f.id)
          from unnest(firsts, drawn) as f (position, id)
         where unique_whiles[f.position] = 'pending' or on_conflicts[f.position] not in ('keep', 'refuse'));
      if exists (select from unnest(on_conflicts) as c (on_conflict) where c.on_conflict not in ('keep', 'refuse')) then
        perform from dogged.tasks_live t where t.id = any (holders) and t.status = 'pending' order by t.id for update;
      else
        perform from dogged.tasks_live t where t.id = any (holders) and t.status = 'pending' order by t.id for share;
      end if;
      -- A loop over the rows of this query would copy the arrays into a form in which each element is searched from the beginning.
      select array_agg(f.position order by f.name collate "C", f.key collate "C"), array_agg(f.id order by f.name collate "C", f.key collate "C")
        into untaken, their_ids
        from (select f.position, f.id, name_of[f.position] as name, key_of[f.position] as key
                from unnest(firsts, drawn) as f (position, id)
                left join unnest(took) as t (id) on t.id = f.id
               where t.id is null and key_of[f.position] is not null and ids[f.position] is null) f;
      for i in 1 .. coalesce(cardinality(untaken), 0) loop
        position := untaken[i];
        select * into met
          from dogged.take_key(name_of[position], key_of[position], their_ids[i], coalesce(unique_whiles[position], 'live'),
                               coalesce(on_conflicts[position], 'keep'), unique_periods[position], latests[position],
                               enqueue_many_unique.args[position], run_ats[position], expires_ats[position],
                               args_versions[position], position);
        if met.outcome <> 'enqueued' then
          ids[position] := met.holder;
          outcomes[position] := met.outcome;
        end if;
      end loop;
    end if;

    fresh := array(select f.place::integer from unnest(firsts) with ordinality as f (position, place)
                    where ids[f.position] is null order by f.place);
    if fresh <> '{}' then
      drawn := dogged.those(drawn, fresh);
      firsts := dogged.those(firsts, fresh);
      perform dogged.insert_many(
        dogged.those(names, firsts), dogged.those(enqueue_many_unique.args, firsts), dogged.those(queues, firsts),
        dogged.those(run_ats, firsts), dogged.those(priorities, firsts), dogged.those(trace_contexts, firsts),
        dogged.those(expires_ats, firsts), dogged.those(enqueue_many_unique.tags, firsts), dogged.those(parent_ids, firsts),
        dogged.those(args_versions, firsts), drawn, dogged.those(key_of, firsts), firsts);
      for i in 1 .. cardinality(firsts) loop
        ids[firsts[i]] := drawn[i];
        outcomes[firsts[i]] := 'enqueued';
      end loop;
    end if;

    -- Further tasks of the same keys meet the first as their holder, unless it has begun already.
    for position in
      select g.position::integer from unnest(ids) with ordinality as g (id, position) where g.id is null order by g.position
    loop
      select * into met
        from dogged.take_key(name_of[position], key_of[position], null, coalesce(unique_whiles[position], 'live'),
                             coalesce(on_conflicts[position], 'keep'), unique_periods[position], latests[position],
                             enqueue_many_unique.args[position], run_ats[position], expires_ats[position],
                             args_versions[position], position);
      if met.outcome is not null then
        ids[position] := met.holder;
        outcomes[position] := met.outcome;
      end if;
    end loop;
  end loop;
  return query select u.id, u.outcome from unnest(ids, outcomes) as u (id, outcome);
end $$;

COMMENT ON FUNCTION dogged.enqueue_many_unique(names text[], args jsonb[], unique_keys text[], unique_bys text[], unique_whiles dogged.unique_while[], on_conflicts dogged.unique_conflict[], unique_periods interval[], latests interval[], queues text[], run_ats timestamp with time zone[], priorities integer[], trace_contexts text[], expires_ats timestamp with time zone[], tags text[], parent_ids bigint[], args_versions integer[]) IS 'Like dogged.enqueue_unique for many tasks, all or none, in order. The arrays are as in dogged.enqueue_many. unique_bys: for each task the text of an array, as ''{/customer/id}''. Without both arrays each task is unique by all its args. With one of them a task that has neither unique_key nor unique_by is not unique, and may have no other option of a unique task. Of tasks with the same key in one call, the first is enqueued, and meets the others as their holder.';

CREATE FUNCTION dogged.enqueue_unique(name text, args jsonb DEFAULT '{}'::jsonb, unique_key text DEFAULT NULL::text, unique_by text[] DEFAULT NULL::text[], unique_while dogged.unique_while DEFAULT 'live'::dogged.unique_while, on_conflict dogged.unique_conflict DEFAULT 'keep'::dogged.unique_conflict, unique_period interval DEFAULT NULL::interval, latest interval DEFAULT NULL::interval, queue text DEFAULT NULL::text, run_at timestamp with time zone DEFAULT NULL::timestamp with time zone, priority integer DEFAULT 0, trace_context text DEFAULT NULL::text, expires_at timestamp with time zone DEFAULT NULL::timestamp with time zone, tags text[] DEFAULT NULL::text[], parent_id bigint DEFAULT NULL::bigint, args_version integer DEFAULT NULL::integer, OUT id bigint, OUT outcome text) RETURNS record
    LANGUAGE plpgsql SECURITY DEFINER
    SET plan_cache_mode TO 'force_generic_plan'
    AS $$
#variable_conflict use_column
declare
  own_transaction constant pg_catalog.xid8 := pg_catalog.pg_current_xact_id();  -- before an id is taken, as in insert_many
  new_id constant pg_catalog.int8 := pg_catalog.nextval('dogged.tasks_id_seq');
  key constant pg_catalog.text :=
    coalesce(enqueue_unique.unique_key, dogged.hashed_key(enqueue_unique.args, coalesce(enqueue_unique.unique_by, '{""}')));
  while_used constant dogged.unique_while := coalesce(enqueue_unique.unique_while, 'live');
  conflict_used constant dogged.unique_conflict := coalesce(enqueue_unique.on_conflict, 'keep');
  queue_used pg_catalog.text;
begin
  if enqueue_unique.name is null or enqueue_unique.args is null or pg_catalog.octet_length(enqueue_unique.name) operator(pg_catalog.>) 128 then
    perform dogged.refuse_task(enqueue_unique.name, enqueue_unique.args, 'default', null, 0, null, null, null, null, null);
  end if;
  if key is null or pg_catalog.cardinality(enqueue_unique.unique_by) operator(pg_catalog.>) 16
     or pg_catalog.octet_length(enqueue_unique.unique_key) operator(pg_catalog.=) 0
     or pg_catalog.octet_length(enqueue_unique.unique_key) operator(pg_catalog.>) 512
     or (enqueue_unique.unique_key is not null and enqueue_unique.unique_by is not null) then
    perform dogged.refuse_key(enqueue_unique.name, enqueue_unique.args, enqueue_unique.unique_key, enqueue_unique.unique_by);
  end if;
  if enqueue_unique.unique_period is not null or enqueue_unique.latest is not null then
    perform dogged.require_unique_times(enqueue_unique.name, enqueue_unique.unique_period, enqueue_unique.latest, conflict_used);
  end if;
  -- Mostly the key is new. Then take_key, another function to enter, is not needed.
  insert into dogged.unique_keys (name, unique_key, task_id, held_while, held_until)
  values (enqueue_unique.name, key, new_id, while_used,
          pg_catalog.now() operator(pg_catalog.+) enqueue_unique.unique_period)
      on conflict do nothing;
  if found then
    id := new_id;
    outcome := 'enqueued';
  else
    select k.holder, k.outcome into id, outcome
      from dogged.take_key(enqueue_unique.name, key, new_id, while_used, conflict_used,
                           enqueue_unique.unique_period, enqueue_unique.latest, enqueue_unique.args, enqueue_unique.run_at,
                           enqueue_unique.expires_at, enqueue_unique.args_version) k;
    if outcome operator(pg_catalog.<>) 'enqueued' then return; end if;
  end if;

  insert into dogged.tasks_live (id, queue, name, args, run_at, deferred, priority, trace_context, expires_at, tags, parent_id,
                                 args_version, unique_key)
  select new_id, q.name, enqueue_unique.name, enqueue_unique.args, coalesce(enqueue_unique.run_at, pg_catalog.now()),
         coalesce(enqueue_unique.run_at operator(pg_catalog.>) pg_catalog.now(), false), coalesce(enqueue_unique.priority, 0),
         enqueue_unique.trace_context, enqueue_unique.expires_at,
         case when pg_catalog.cardinality(enqueue_unique.tags) operator(pg_catalog.>) 0 then enqueue_unique.tags end,
         enqueue_unique.parent_id,
         case when enqueue_unique.args_version operator(pg_catalog.<>) 1 then enqueue_unique.args_version end, key
    from dogged.queues q
   where q.name operator(pg_catalog.=) coalesce(enqueue_unique.queue, (select d.queue from dogged.task_definitions d
                                                                        where d.name operator(pg_catalog.=) enqueue_unique.name),
                                                'default')
     and dogged.is_sound_task(enqueue_unique.name, enqueue_unique.run_at, enqueue_unique.priority, enqueue_unique.trace_context,
                              enqueue_unique.expires_at, enqueue_unique.tags, enqueue_unique.parent_id, enqueue_unique.args_version)
     and (select dogged.json_bytes(enqueue_unique.args, s.max_args_bytes) operator(pg_catalog.<=) s.max_args_bytes
            from dogged.settings s)
     and (q.max_depth is null or dogged.has_room(q.name, q.max_depth, 1))
  returning queue into queue_used;

  if queue_used is null then
    perform dogged.refuse_task(
      enqueue_unique.name, enqueue_unique.args,
      coalesce(enqueue_unique.queue, (select d.queue from dogged.task_definitions d
                                       where d.name operator(pg_catalog.=) enqueue_unique.name), 'default'),
      enqueue_unique.run_at, coalesce(enqueue_unique.priority, 0), enqueue_unique.trace_context, enqueue_unique.expires_at,
      enqueue_unique.tags, enqueue_unique.parent_id, enqueue_unique.args_version);
  end if;
  if pg_catalog.current_setting('transaction_isolation') operator(pg_catalog.<>) 'read committed' then
    perform dogged.end_enqueue_of_old_snapshot(array[queue_used]);
  elsif exists (select from dogged.workers w where w.asleep and w.queues operator(pg_catalog.?) queue_used) then
    perform pg_catalog.pg_notify('dogged.wake', queue_used);  -- as in insert_many
  end if;
end $$;

COMMENT ON FUNCTION dogged.enqueue_unique(name text, args jsonb, unique_key text, unique_by text[], unique_while dogged.unique_while, on_conflict dogged.unique_conflict, unique_period interval, latest interval, queue text, run_at timestamp with time zone, priority integer, trace_context text, expires_at timestamp with time zone, tags text[], parent_id bigint, args_version integer, OUT id bigint, OUT outcome text) IS 'Enqueues one task in the caller''s transaction, unless another task of that name holds its unique key. Returns the id of the new task with outcome enqueued; or the id of the holder, with existed or, if the call has changed it, updated. unique_key: up to 512 bytes. unique_by: JSON pointers to the args that the key covers; without a unique_key all args; ''{}'': the name alone. unique_while: how long a task holds the key: pending, live, kept. on_conflict: what happens to the holder. unique_period: the key is free after this time, whatever the state of the holder. latest: reschedule, debounce and debounce_merge move the first run no further than this after the holder was enqueued; refused with another on_conflict. Error UN001: on_conflict is refuse, and a task holds the key. The other parameters are those of dogged.enqueue.';

CREATE FUNCTION dogged.error_fingerprint(message text) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN regexp_replace(regexp_replace(regexp_replace("left"(message, 300), '[[:alpha:]][[:alnum:]+.-]*://[^[:space:]"''`<>)]+'::text, '<url>'::text, 'g'::text), '"[^"]*"|`[^`]*`|(?<![[:alnum:]_])''[^'']*'''::text, '<text>'::text, 'g'::text), '[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F-]{17,}|\w*\d[\w.:-]*\w|\d'::text, '<n>'::text, 'g'::text);

COMMENT ON FUNCTION dogged.error_fingerprint(message text) IS 'The first 300 characters of an error message, without the parts that differ from one failure to the next. <url>, <text> (quoted text) and <n> (numbers, ids, times) replace these parts. Messages of one kind have the same fingerprint.';

CREATE TABLE dogged.events (
    name text NOT NULL,
    payload jsonb NOT NULL,
    emitted_at timestamp with time zone NOT NULL,
    resumed bigint NOT NULL,
    CONSTRAINT events_name_check CHECK (((octet_length(name) <= 128) AND (name ~ '^[A-Za-z0-9][A-Za-z0-9._:/-]*$'::text)))
)
PARTITION BY RANGE (emitted_at);

COMMENT ON TABLE dogged.events IS 'Events that were emitted (dogged.emit), for tasks that wait for them later. Retention drops partitions of whole days.';

COMMENT ON COLUMN dogged.events.name IS 'The event''s name.';

COMMENT ON COLUMN dogged.events.payload IS 'What the event carries, as JSON.';

COMMENT ON COLUMN dogged.events.emitted_at IS 'When it was emitted.';

COMMENT ON COLUMN dogged.events.resumed IS 'How many tasks waited for it then.';

CREATE FUNCTION dogged.event_lock(name text) RETURNS bigint
    LANGUAGE sql STABLE
    RETURN hashtextextended((((('dogged.events'::regclass)::oid)::text || ':'::text) || name), (0)::bigint);

COMMENT ON FUNCTION dogged.event_lock(name text) IS 'Internal: the key of the advisory lock on an event''s name.';

CREATE FUNCTION dogged.export_dead_letters(ids bigint[], attempts integer[] DEFAULT NULL::integer[]) RETURNS TABLE(id bigint, attempt integer, letter text)
    LANGUAGE sql STABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET "TimeZone" TO 'UTC'
    AS $$
  select f.id, f.attempt, row_to_json(letter)::text
    from unnest(export_dead_letters.ids, export_dead_letters.attempts) as a (id, attempt)
    join (select * from dogged.tasks_failed where id = any (export_dead_letters.ids)) f
      on f.id = a.id and f.attempt = coalesce(a.attempt, f.attempt)
   cross join lateral (
     select f.id, f.name, f.queue, f.priority, f.args, f.enqueued_at, f.run_at, f.claimed_at, f.finished_at as failed_at,
            f.attempt as attempts, f.retry_count, f.losses, coalesce(f.snoozes, 0) as snoozes, f.error_code, f.error_message,
            (select h.error_details from dogged.task_attempts h where h.task_id = f.id and h.attempt = f.attempt
              limit 1) as error_details,
            f.trace_context, coalesce(f.tags, '{}') as tags, f.parent_id, f.args_version, f.unique_key,
            -- json_agg would break lines.
            array_to_json(array(select row_to_json(h) from (
                        select h.attempt, h.outcome, h.worker_id, w.name as worker, h.claimed_at, h.started_at, h.finished_at,
                               h.error_code, h.error_message, h.error_details, h.will_retry, h.next_retry_at, h.policy,
                               h.backoff_ms, h.delay_ms, h.retry_after_ms, h.trace_context
                          from dogged.task_attempts h left join dogged.workers w on w.id = h.worker_id
                         where h.task_id = f.id and h.attempt <= f.attempt
                         order by h.attempt) h)) as history) letter
   order by f.id
$$;

COMMENT ON FUNCTION dogged.export_dead_letters(ids bigint[], attempts integer[]) IS 'Each of the dead letters as a JSON text with its attempts, and without its steps and checkpoints. The args are not redacted. dogged.import_dead_letters takes these texts. attempts: only dead letters that failed in that attempt.';

CREATE FUNCTION dogged.fire_due_ticks(most integer DEFAULT 100, OUT schedules integer, OUT due_in_ms bigint) RETURNS record
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
  schedule dogged.schedules;
  now_at constant timestamptz := clock_timestamp();
begin
  schedules := 0;
  for schedule in
    select s.* from dogged.schedules s where s.fires_at <= now_at order by s.fires_at limit fire_due_ticks.most for update skip locked
  loop
    perform dogged.fire_or_put_off(schedule, now_at);
    schedules := schedules + 1;
  end loop;
  due_in_ms := (select ceil(extract(epoch from min(s.fires_at) - clock_timestamp()) * 1000) from dogged.schedules s);
end $$;

COMMENT ON FUNCTION dogged.fire_due_ticks(most integer, OUT schedules integer, OUT due_in_ms bigint) IS 'Fires the ticks of up to `most` schedules that are due, in the caller''s transaction; schedules that another call has locked are left to it. schedules: how many it has handled; due_in_ms: when the next is due, null if there is none.';

CREATE FUNCTION dogged.fire_or_put_off(schedule dogged.schedules, now_at timestamp with time zone) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
  perform dogged.fire_schedule(schedule, now_at);
exception when invalid_parameter_value then
  if dogged.time_in(now_at, schedule.time_zone) is not null then raise; end if;  -- a mistake of dogged's own
  perform dogged.note_tick(schedule, schedule.next_at, 'skipped', sqlerrm, 'clock');
  update dogged.schedules s set last_tick_at = schedule.next_at, fires_at = now_at + interval '1 minute' where s.id = schedule.id;
end $$;

COMMENT ON FUNCTION dogged.fire_or_put_off(schedule dogged.schedules, now_at timestamp with time zone) IS 'Internal: as fire_schedule. If the time zone of the schedule is not known any more, its next tick is skipped with that reason.';

CREATE FUNCTION dogged.fire_schedule(schedule dogged.schedules, now_at timestamp with time zone) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
  first constant timestamptz := dogged.first_to_fire(schedule, now_at);
  live bigint[];
begin
  schedule.live_tasks := dogged.alive_of(schedule.live_tasks);
  if schedule.overlap = 'cancel_other' and dogged.is_to_cancel_others(schedule.id) then
    schedule.live_tasks := dogged.cancel_tasks_of(schedule);
  end if;
  if cardinality(schedule.live_tasks) = 0 then schedule.live_tasks := dogged.start_waiting_tick(schedule); end if;
  if first > schedule.next_at then
    perform dogged.skip_until(schedule, first, 'missed');
    schedule.last_tick_at := greatest(schedule.last_tick_at, first - interval '1 microsecond');
    schedule.next_at := first;
  end if;
  -- A long catch-up goes on in the next call, after the others that are due.
  for i in 1 .. 20 loop
    schedule.fires_at := dogged.fires_at_of(schedule);
    exit when schedule.fires_at > now_at or schedule.next_at is null;
    live := dogged.decide_tick(schedule, schedule.next_at, schedule.overlap, 'clock');
    -- With allow_all, the ticks of a backfill wait for its tasks alone.
    if schedule.overlap <> 'allow_all' then schedule.live_tasks := live; end if;
    schedule.last_tick_at := schedule.next_at;
    schedule.next_at := dogged.next_tick(schedule.compiled, schedule.time_zone, schedule.next_at);
  end loop;
  update dogged.schedules s
     set next_at = schedule.next_at, last_tick_at = schedule.last_tick_at,
         -- With allow_all, only the ticks of a backfill wait for earlier tasks.
         live_tasks = case when schedule.overlap = 'allow_all' and dogged.first_waiting_tick(schedule.id) is null then '{}' else schedule.live_tasks end,
         fires_at = dogged.looked_after_at(schedule, now_at)
   where s.id = schedule.id;
end $$;

COMMENT ON FUNCTION dogged.fire_schedule(schedule dogged.schedules, now_at timestamp with time zone) IS 'Internal: decides the ticks of a locked schedule that are due.';

CREATE FUNCTION dogged.fires_at_of(schedule dogged.schedules) RETURNS timestamp with time zone
    LANGUAGE plpgsql IMMUTABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
  return schedule.next_at
         + abs(hashtextextended(schedule.id || ' ' || extract(epoch from schedule.next_at), 0) % (schedule.jitter_ms + 1)) * interval '1 millisecond';
end $$;

COMMENT ON FUNCTION dogged.fires_at_of(schedule dogged.schedules) IS 'Internal: when the next tick of a schedule is due, with its jitter.';

CREATE FUNCTION dogged.first_instant_of(local timestamp without time zone, time_zone text) RETURNS timestamp with time zone
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
  instant constant timestamptz := local at time zone time_zone;
  earlier constant timestamptz := (local - dogged.offset_at(instant - interval '1 day', time_zone)) at time zone 'UTC';
  before timestamptz;
begin
  if instant at time zone time_zone = local then
    return case when earlier < instant and earlier at time zone time_zone = local then earlier else instant end;
  end if;
  before := (local at time zone 'UTC') - interval '40 hours';  -- no zone is as far from UTC, with a day left out
  return dogged.change_of_offset(before, before + interval '80 hours', time_zone);
end $$;

COMMENT ON FUNCTION dogged.first_instant_of(local timestamp without time zone, time_zone text) IS 'Internal: when a clock of this zone first shows the local time or, where the clock leaves it out, a later one.';

CREATE FUNCTION dogged.first_of(numbers bigint, lowest integer) RETURNS integer
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN CASE WHEN ((lowest < 63) AND ((numbers >> lowest) <> 0)) THEN (lowest + (round((ln((((numbers >> lowest) & (- (numbers >> lowest))))::double precision) / ln((2)::double precision))))::integer) ELSE NULL::integer END;

COMMENT ON FUNCTION dogged.first_of(numbers bigint, lowest integer) IS 'Internal: the first number of a set that is not below `lowest`; null if there is none.';

CREATE FUNCTION dogged.first_to_fire(schedule dogged.schedules, now_at timestamp with time zone) RETURNS timestamp with time zone
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
  on_time constant timestamptz := now_at - interval '30 seconds' - schedule.jitter_ms * interval '1 millisecond';
  -- A backfill may have fired ticks of a day that retention has dropped since. No row records those ticks any more.
  on_record constant timestamptz := (select s.ticks_since::timestamp at time zone 'UTC' from dogged.settings s);
  -- The window leaves out no tick that is not missed yet, however short it is and however long the jitter. Null: no limit.
  oldest constant timestamptz := greatest(schedule.next_at, on_record, case when schedule.catch_up_ms is not null then
    least(now_at - schedule.catch_up_ms * interval '1 millisecond', on_time + interval '1 microsecond') end);
  span interval := '1 minute';
  tick timestamptz;
  latest timestamptz[];
begin
  if schedule.next_at > on_time and schedule.next_at >= on_record then return schedule.next_at; end if;
  if schedule.catch_up_limit = 0 then
    return dogged.next_tick(schedule.compiled, schedule.time_zone, greatest(on_time, on_record - interval '1 microsecond'));
  end if;
  if schedule.catch_up_limit is null then
    return dogged.next_tick(schedule.compiled, schedule.time_zone, oldest - interval '1 microsecond');
  end if;
  -- The latest ticks of the window: it is searched from its end, further back each time.
  loop
    latest := '{}';
    tick := greatest(oldest, on_time - span) - interval '1 microsecond';
    loop
      tick := dogged.next_tick(schedule.compiled, schedule.time_zone, tick);
      exit when tick is null or tick > on_time;
      latest := case when cardinality(latest) = schedule.catch_up_limit then latest[2:] else latest end || tick;
    end loop;
    if cardinality(latest) = schedule.catch_up_limit or on_time - span <= oldest then return coalesce(latest[1], tick); end if;
    span := span * 2;
  end loop;
end $$;

COMMENT ON FUNCTION dogged.first_to_fire(schedule dogged.schedules, now_at timestamp with time zone) IS 'Internal: the first tick that is to be made up for, or that is not missed. Those before it are skipped.';

CREATE FUNCTION dogged.first_waiting_tick(schedule_id bigint) RETURNS timestamp with time zone
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
  return (select min(t.scheduled_at) from dogged.schedule_ticks t
           where t.schedule_id = first_waiting_tick.schedule_id and t.outcome = 'waiting');
end $$;

COMMENT ON FUNCTION dogged.first_waiting_tick(schedule_id bigint) IS 'Internal: the first of the ticks of a schedule that wait; null: none does.';

CREATE FUNCTION dogged.fits_day(compiled dogged.compiled_spec, year integer, month integer, day integer, days_of_month integer) RETURNS boolean
    LANGUAGE plpgsql IMMUTABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
  is_of_days constant boolean := (compiled.days >> day) & 1 = 1 or (compiled.days & 1 = 1 and day = days_of_month);
  weekday integer;
  is_of_weekdays boolean;
begin
  if not is_of_days and not compiled.is_either_day then return false; end if;
  weekday := extract(dow from make_date(year, month, day));
  is_of_weekdays := (compiled.weekdays >> weekday) & 1 = 1 or (compiled.weekdays >> (8 * ((day + 6) / 7) + weekday)) & 1 = 1
                    or (day > days_of_month - 7 and (compiled.weekdays >> (48 + weekday)) & 1 = 1);
  return case when compiled.is_either_day then is_of_days or is_of_weekdays else is_of_weekdays end;
end $$;

COMMENT ON FUNCTION dogged.fits_day(compiled dogged.compiled_spec, year integer, month integer, day integer, days_of_month integer) IS 'Internal: whether a spec has times on this day of one of its months.';

CREATE FUNCTION dogged.for_each(list anyarray, tasks integer) RETURNS anyarray
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS $$
  select case when cardinality(list) = 1 then array_fill(list[1], array[tasks]) else list end
$$;

COMMENT ON FUNCTION dogged.for_each(list anyarray, tasks integer) IS 'Internal: an array with an element for each of the tasks.';

CREATE FUNCTION dogged.forget_calls() RETURNS integer
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
  forgotten integer;
begin
  -- No client repeats a call for longer than one day.
  delete from dogged.producer_calls c
   where c.producer = any (array(select old.producer from dogged.producer_calls old
                                  where old.called_at < now() - interval '2 days' limit 10000 for update skip locked));
  get diagnostics forgotten = row_count;
  return forgotten;
end $$;

COMMENT ON FUNCTION dogged.forget_calls() IS 'Deletes the rows of up to 10,000 clients that have made no call for two days (producer_calls); returns their number.';

CREATE FUNCTION dogged.forget_keys() RETURNS integer
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
  forgotten integer;
begin
  delete from dogged.unique_keys k
   using (select o.name, o.unique_key, o.task_id, o.taken_at
            from dogged.unique_keys o
           where (o.held_until is null or o.held_until < now())
             and not exists (select from dogged.tasks_live t where t.id = o.task_id)
             and (o.held_while <> 'kept' or o.held_until is not null
                  or not exists (select from dogged.tasks t where t.id = o.task_id))
           limit 10000 for update skip locked) old
   -- A replay meanwhile lets the same task take its key again.
   where k.name = old.name and k.unique_key = old.unique_key and k.task_id = old.task_id and k.taken_at = old.taken_at;
  get diagnostics forgotten = row_count;
  return forgotten;
end $$;

COMMENT ON FUNCTION dogged.forget_keys() IS 'Deletes up to 10,000 unique keys whose tasks hold them no longer; returns their number.';

CREATE FUNCTION dogged.forget_steps() RETURNS bigint
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET plan_cache_mode TO 'auto'
    AS $$
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

COMMENT ON FUNCTION dogged.forget_steps() IS 'Deletes the checkpoints, waits and progress of tasks that have ended and are no dead letters; returns their number.';

CREATE FUNCTION dogged.forget_workers() RETURNS integer
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'on'
    SET plan_cache_mode TO 'auto'
    AS $$
declare
  -- Workers that ended before every complete day of attempts are named only by kept attempts.
  before constant timestamptz := least(
    clock_timestamp() - (select make_interval(days => keep_attempts_days) from dogged.settings),
    (select min(p.day)::timestamp at time zone 'UTC' from dogged.partitions p
      where p.parent in ('task_attempts', 'task_steps') and not p.is_kept),
    (select min(d.finished_at) from dogged.task_attempts_default d),
    (select min(d.finished_at) from dogged.task_steps_default d));
  forgotten integer;
begin
  if not exists (select from dogged.workers w where greatest(w.rescued_at, w.stopped_at) < before and w.rescued_at is not null) then
    return 0;
  end if;
  delete from dogged.workers w
   where w.rescued_at is not null and greatest(w.rescued_at, w.stopped_at) < before
     -- An array is hashed whatever its length. NOT IN scanned the whole list for each worker, once the list was long.
     and w.id <> all (array(
           select distinct named.worker_id
             from (select a.worker_id from dogged.task_attempts a where a.finished_at < before
                    union all
                   select t.worker_id from dogged.tasks t
                    where t.worker_id is not null and t.status in ('failed', 'pending', 'running')) named));
  get diagnostics forgotten = row_count;
  return forgotten;
end $$;

COMMENT ON FUNCTION dogged.forget_workers() IS 'Deletes the rows of workers that ended longer ago than attempts are kept and that no attempt and no task names; returns their number.';

CREATE FUNCTION dogged.grant_rights() RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
  schema_name constant text := rtrim('dogged.', '.');
  namespace constant oid := to_regnamespace(schema_name);
  prefix constant text := (select s.role_prefix from dogged.settings s);
  grantees text;
  command text;
begin
  -- PostgreSQL lets every role call a new function.
  for command in
    select format('revoke execute on function %s from public', p.oid::regprocedure)
      from pg_proc p
     where p.pronamespace = namespace
       and exists (select from aclexplode(coalesce(p.proacl, acldefault('f', p.proowner))) a where a.grantee = 0)
  loop
    execute command;
  end loop;

  if prefix is null then
    return;
  end if;
  perform dogged.revoke_rights(prefix);
  select string_agg(quote_ident(r.name), ', ') into grantees
    from unnest(dogged.role_names(prefix)) as r (name) where to_regrole(r.name) is not null;
  if grantees is null then
    return;  -- the roles were dropped
  end if;
  execute format('grant usage on schema %I to %s', schema_name, grantees);
  for command in
    select format('grant %s on %s to %s', granted.privileges, granted.object, granted.grantees)
      from (
        select case when r.except_columns = '{}' then r.privileges
                    else r.privileges || ' (' ||
                         (select string_agg(quote_ident(a.attname), ', ' order by a.attnum)
                            from pg_attribute a
                           where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
                             and a.attname <> all (r.except_columns)) || ')' end as privileges,
               case c.relkind when 'S' then 'sequence ' else 'table ' end || c.oid::regclass as object,
               (select string_agg(quote_ident(prefix || '_' || wanted.role), ', ')
                  from unnest(r.roles) as wanted (role)
                 where to_regrole(prefix || '_' || wanted.role) is not null) as grantees
          from dogged.rights r
          join pg_class c on c.relname = r.object and c.relnamespace = namespace
         where r.privileges not like 'execute%'
        union all
        select 'execute', 'function ' || p.oid::regprocedure,
               (select string_agg(quote_ident(prefix || '_' || wanted.role), ', ')
                  from unnest(r.roles) as wanted (role)
                 where to_regrole(prefix || '_' || wanted.role) is not null)
          from dogged.rights r
          join pg_proc p on p.proname = r.object and p.pronamespace = namespace
         where r.privileges like 'execute%') as granted
     where granted.grantees is not null and granted.privileges is not null  -- null: no other column exists
  loop
    execute command;
  end loop;
end $$;

COMMENT ON FUNCTION dogged.grant_rights() IS 'Grants the rights of dogged.rights to the roles that dogged.make_roles() has made, and revokes all other rights of these roles in this schema. Apart from them, only the owner may call functions of this schema. `dogged migrate` calls this function each time.';

CREATE TABLE dogged.schedule_ticks (
    schedule_id bigint NOT NULL,
    scheduled_at timestamp with time zone NOT NULL,
    outcome dogged.tick_outcome NOT NULL,
    reason text,
    origin text NOT NULL,
    decided_at timestamp with time zone NOT NULL,
    late_ms bigint,
    task_id bigint,
    skipped_until timestamp with time zone
)
PARTITION BY RANGE (scheduled_at);

COMMENT ON TABLE dogged.schedule_ticks IS 'One row for each tick of a schedule: its task, or the reason why it has none.';

COMMENT ON COLUMN dogged.schedule_ticks.schedule_id IS 'The schedule: schedules.id. It may be gone.';

COMMENT ON COLUMN dogged.schedule_ticks.scheduled_at IS 'The tick''s time by the spec, without jitter.';

COMMENT ON COLUMN dogged.schedule_ticks.outcome IS 'Whether its task was enqueued.';

COMMENT ON COLUMN dogged.schedule_ticks.reason IS 'Why it was skipped: overlap (the task before it had not ended), missed (nobody could fire it in time), paused, superseded (a later tick took the place in which it waited), deleted (its schedule was), full (1000 ticks wait), or the error of the enqueue. Null where it was not skipped.';

COMMENT ON COLUMN dogged.schedule_ticks.origin IS 'Where the tick comes from: the clock, a backfill, or a run by hand (hand).';

COMMENT ON COLUMN dogged.schedule_ticks.decided_at IS 'When the outcome was decided.';

COMMENT ON COLUMN dogged.schedule_ticks.late_ms IS 'How long after its time, with its jitter, that was; null for a backfill.';

COMMENT ON COLUMN dogged.schedule_ticks.task_id IS 'The task that was enqueued: tasks.id. It may have been dropped since.';

COMMENT ON COLUMN dogged.schedule_ticks.skipped_until IS 'For ticks that were missed or fell into a pause: this row stands for all ticks from scheduled_at until before this time.';

CREATE FUNCTION dogged.hand_range_on(schedule dogged.schedules, skipped dogged.schedule_ticks) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
  schedule.next_at := case when schedule.changed_at > skipped.decided_at then skipped.scheduled_at + interval '1 microsecond'
                           else dogged.next_tick(schedule.compiled, schedule.time_zone, skipped.scheduled_at) end;
  schedule.fires_at := schedule.next_at;
  perform dogged.skip_until(schedule, skipped.skipped_until, skipped.reason);
end $$;

COMMENT ON FUNCTION dogged.hand_range_on(schedule dogged.schedules, skipped dogged.schedule_ticks) IS 'Internal: writes a row for the rest of a range of skipped ticks, the first of which was decided anew.';

CREATE FUNCTION dogged.has_room(queue text, max_depth integer, more integer, own_id bigint DEFAULT NULL::bigint) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
  given_out constant bigint :=
    (select case when s.is_called then s.last_value else 0 end from dogged.tasks_id_seq s);
  counted integer;
begin
  if exists (select from dogged.queue_depths d
              where d.queue = has_room.queue and given_out >= d.last_id and (d.last_id < has_room.own_id) is not false
                and d.held + (given_out - d.last_id) + has_room.more <= has_room.max_depth) then
    return true;
  end if;
  counted := dogged.held_of_queue(has_room.queue, has_room.max_depth + 1);
  if counted + has_room.more > has_room.max_depth then return false; end if;
  if current_setting('transaction_isolation') = 'read committed' then
    perform from dogged.queue_depths d where d.queue = has_room.queue for update skip locked;
    if found then
      update dogged.queue_depths d set held = counted, last_id = given_out where d.queue = has_room.queue;
    end if;
  end if;
  return true;
end $$;

COMMENT ON FUNCTION dogged.has_room(queue text, max_depth integer, more integer, own_id bigint) IS 'Whether this many more tasks fit into a queue. Concurrent enqueues that are not committed are not counted. own_id: the first id of the tasks that the caller has inserted. A count that was made after this id was given out has not seen these tasks.';

CREATE FUNCTION dogged.hashed_key(args jsonb, unique_by text[]) RETURNS text
    LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE
    AS $$
declare
  pointer pg_catalog.text;
  part pg_catalog.jsonb;
  parts pg_catalog.jsonb := '[]';
begin
  -- The key is that of a set of pointers: their order, and a second mention, are no difference.
  if pg_catalog.cardinality(unique_by) operator(pg_catalog.>) 1 then
    unique_by := array(select distinct by.pointer collate pg_catalog."C" from pg_catalog.unnest(unique_by) as by (pointer) order by 1);
  end if;
  foreach pointer in array unique_by loop
    part := dogged.value_at(args, pointer);
    if part is null or pointer is null then return null; end if;
    parts := parts operator(pg_catalog.||) pg_catalog.jsonb_build_array(pointer, part);
  end loop;
  return pg_catalog.encode(pg_catalog.sha256(pg_catalog.convert_to(parts::pg_catalog.text, 'UTF8')), 'hex');
end $$;

COMMENT ON FUNCTION dogged.hashed_key(args jsonb, unique_by text[]) IS 'Internal: the SHA-256 of the values that the JSON pointers name, in whatever order; null: the args have no value at one of them.';

CREATE FUNCTION dogged.held_of_queue(queue text, most integer) RETURNS integer
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET plan_cache_mode TO 'force_generic_plan'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    AS $$
begin
  return (select count(*)
            from (select from ((select from dogged.tasks_live t
                                 where not t.deferred and hashtext(t.queue) = hashtext(held_of_queue.queue) and t.queue = held_of_queue.queue limit held_of_queue.most)
                               union all
                               (select from dogged.tasks_live t
                                 where t.deferred and hashtext(t.queue) = hashtext(held_of_queue.queue) and t.queue = held_of_queue.queue limit held_of_queue.most)) found
                   limit held_of_queue.most) held);
end $$;

COMMENT ON FUNCTION dogged.held_of_queue(queue text, most integer) IS 'The number of tasks of the queue that have not ended; no more than `most` are counted.';

CREATE FUNCTION dogged.import_dead_letters(letters jsonb[]) RETURNS TABLE(place bigint, id bigint, result text)
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET jit TO 'off'
    AS $$
#variable_conflict use_column
declare
  highest_id bigint;
  free_ids bigint[];
begin
  -- One import at a time: two imports could both find the same id free.
  perform from dogged.locks l where l.name = 'import' for update;
  perform dogged.refuse_dead_letter(l) from unnest(letters) l;

  -- New tasks must get ids above those of imported tasks. The gap is large, because other sessions draw ids meanwhile.
  select max((l ->> 'id')::bigint) into highest_id from unnest(letters) l;
  perform setval('dogged.tasks_id_seq', highest_id + 1000000) from dogged.tasks_id_seq s where s.last_value <= highest_id;

  -- An enqueue may have taken one of the ids without having committed: the primary key makes this insert wait for that
  -- enqueue. Later enqueues take new ids.
  with placeholder as (
    insert into dogged.tasks_live (id, queue, name, args)
    select distinct (l ->> 'id')::bigint, 'default', 'imported', '{}'::jsonb from unnest(letters) l order by 1
        on conflict (id) do nothing returning id
  )
  select array_agg(p.id) into free_ids from placeholder p;
  delete from dogged.tasks_live t where t.id = any (free_ids);

  return query
    with given as materialized (
      select l.place, l.letter, (l.letter ->> 'id')::bigint as id, l.letter ->> 'name' as name, l.letter ->> 'queue' as queue,
             (l.letter ->> 'attempts')::integer as attempts,
             ((l.letter ->> 'failed_at')::timestamptz at time zone 'UTC')::date as failed_on
        from unnest(letters) with ordinality as l (letter, place)
    ), judged as materialized (
      select g.*,
             case when exists (select from dogged.tasks t where t.id = g.id)
                    or row_number() over (partition by g.id order by g.place) > 1
                    -- Attempts of another task that had this id.
                    or exists (select from dogged.task_attempts h
                                where h.task_id = g.id and (h.name <> g.name or h.attempt > g.attempts)) then 'id_taken'
                  when not exists (select from dogged.queues q where q.name = g.queue) then 'no_queue'
                  when g.failed_on + 1 + greatest(s.keep_failed_days, (select q.keep_failed_days from dogged.queues q where q.name = g.queue))
                       <= (clock_timestamp() at time zone 'UTC')::date then 'too_old'
                  else 'imported' end as result
        from given g cross join dogged.settings s
    ), inserted as (
      insert into dogged.tasks (id, status, queue, name, priority, args, enqueued_at, run_at, attempt, retry_count, losses,
                                snoozes, claimed_at, finished_at, error_code, error_message, trace_context, tags, parent_id,
                                args_version, unique_key)
      select j.id, 'failed', j.queue, j.name, coalesce((l ->> 'priority')::smallint, 0), l -> 'args',
             (l ->> 'enqueued_at')::timestamptz, coalesce(l ->> 'run_at', l ->> 'enqueued_at')::timestamptz, j.attempts,
             coalesce((l ->> 'retry_count')::integer, 0), coalesce((l ->> 'losses')::integer, 0),
             nullif((l ->> 'snoozes')::integer, 0), (l ->> 'claimed_at')::timestamptz, (l ->> 'failed_at')::timestamptz, l ->> 'error_code', l ->> 'error_message',
             l ->> 'trace_context', dogged.tags_of_letter(l), (l ->> 'parent_id')::bigint,
             nullif((l ->> 'args_version')::smallint, 1), l ->> 'unique_key'
        from judged j cross join lateral (select j.letter as l) as letter
       where j.result = 'imported'
    ), remembered as (
      -- A worker of another database is not the worker that has the same id here.
      insert into dogged.task_attempts (task_id, attempt, name, queue, outcome, worker_id, claimed_at, started_at, finished_at,
                                        error_code, error_message, error_details, will_retry, next_retry_at, policy,
                                        backoff_ms, delay_ms, retry_after_ms, trace_context)
      select j.id, h.attempt, j.name, j.queue, h.outcome,
             coalesce((select w.id from dogged.workers w where w.id = h.worker_id and w.name = h.worker), 0), h.claimed_at,
             h.started_at, h.finished_at, h.error_code, h.error_message, h.error_details, h.will_retry, h.next_retry_at,
             h.policy, h.backoff_ms, h.delay_ms, h.retry_after_ms, h.trace_context
        from judged j
       cross join lateral jsonb_to_recordset(coalesce(j.letter -> 'history', '[]')) as h (
               attempt integer, outcome dogged.attempt_outcome, worker_id bigint, worker text, claimed_at timestamptz,
               started_at timestamptz, finished_at timestamptz, error_code text, error_message text, error_details jsonb,
               will_retry boolean, next_retry_at timestamptz, policy text, backoff_ms bigint, delay_ms bigint,
               retry_after_ms bigint, trace_context text)
       where j.result = 'imported' and h.attempt between 1 and j.attempts
         and not exists (select from dogged.task_attempts o where o.task_id = j.id and o.attempt = h.attempt)
    ), audited as (
      insert into dogged.audit (actor, application, action, task_id, details)
      select dogged.audit_actor(), coalesce(current_setting('application_name', true), ''), 'import', j.id,
             jsonb_build_object('error_code', j.letter -> 'error_code', 'failed_at', j.letter -> 'failed_at')
        from judged j where j.result = 'imported'
    )
    select j.place, j.id, j.result from judged j order by j.place;
end $$;

COMMENT ON FUNCTION dogged.import_dead_letters(letters jsonb[]) IS 'Imports dead letters that export_dead_letters wrote, under their ids, in the caller''s transaction. Returns for each, by its place: imported; id_taken: a task has that id, or another task had it; no_queue; too_old: settings.keep_failed_days, or the queue''s own, are over. Raises 22023 for a text that is no dead letter.';

CREATE FUNCTION dogged.insert_many(names text[], args jsonb[], queues text[] DEFAULT NULL::text[], run_ats timestamp with time zone[] DEFAULT NULL::timestamp with time zone[], priorities integer[] DEFAULT NULL::integer[], trace_contexts text[] DEFAULT NULL::text[], expires_ats timestamp with time zone[] DEFAULT NULL::timestamp with time zone[], tags text[] DEFAULT NULL::text[], parent_ids bigint[] DEFAULT NULL::bigint[], args_versions integer[] DEFAULT NULL::integer[], ids bigint[] DEFAULT NULL::bigint[], unique_keys text[] DEFAULT NULL::text[], numbers integer[] DEFAULT NULL::integer[]) RETURNS bigint[]
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET plan_cache_mode TO 'force_generic_plan'
    SET enable_nestloop TO 'off'
    SET array_nulls TO 'on'
    AS $$
#variable_conflict use_column
declare
  own_transaction constant xid8 := pg_current_xact_id();  -- before an id is taken: see src/sql/claim/settle_watermarks.sql
  tasks constant integer := cardinality(insert_many.args);
  max_args_bytes constant integer := (select s.max_args_bytes from dogged.settings s);
  -- Args that are no longer than this as jsonb are short enough as text, so they are not converted to text. The longest
  -- text is that of a number with 131,072 digits before its point and 16,383 after, which may take 14 bytes. The
  -- elements of an array are neither compressed nor stored out of line.
  surely_short constant integer := max_args_bytes / 16384;
  are_alike constant boolean :=  -- except for their args and unique keys
    greatest(cardinality(names), cardinality(queues), cardinality(run_ats), cardinality(priorities),
             cardinality(trace_contexts), cardinality(expires_ats), cardinality(insert_many.tags), cardinality(parent_ids),
             cardinality(args_versions)) = 1;
  common record;  -- the values given once for all tasks
  tags_of_all text[];
  -- Used if the tasks are alike. Variables, because a record's field takes longer to read, for each task.
  queue_of_all text;
  name_of_all text;
  run_at_of_all timestamptz;
  deferred_are_all boolean;
  priority_of_all smallint;
  trace_context_of_all text;
  expires_at_of_all timestamptz;
  parent_id_of_all bigint;
  args_version_of_all smallint;
  are_all_sound boolean;  -- except for their args

  inserted bigint;
  bad record;
  has_old_snapshot constant boolean := current_setting('transaction_isolation') <> 'read committed';
  has_limits boolean;
  some_may_sleep boolean;
  queues_used text[];
begin
  if (tasks is not null and cardinality(names) in (1, tasks)
      and coalesce(cardinality(queues), 1) in (1, tasks) and coalesce(cardinality(run_ats), 1) in (1, tasks)
      and coalesce(cardinality(priorities), 1) in (1, tasks) and coalesce(cardinality(trace_contexts), 1) in (1, tasks)
      and coalesce(cardinality(expires_ats), 1) in (1, tasks)
      and coalesce(cardinality(insert_many.tags), 1) in (1, tasks)
      and coalesce(cardinality(parent_ids), 1) in (1, tasks)
      and coalesce(cardinality(args_versions), 1) in (1, tasks)) is not true then
    perform dogged.refuse_arrays(
      jsonb_build_object('names', cardinality(names), 'queues', cardinality(queues), 'run_ats', cardinality(run_ats),
                         'priorities', cardinality(priorities), 'trace_contexts', cardinality(trace_contexts),
                         'expires_ats', cardinality(expires_ats), 'tags', cardinality(insert_many.tags),
                         'parent_ids', cardinality(parent_ids), 'args_versions', cardinality(args_versions)),
      tasks);
  end if;
  if tasks = 0 then return '{}'; end if;

  select g.* into common
    from unnest(case when cardinality(names) = 1 then names end,
                case when cardinality(queues) = 1 then queues end,
                case when cardinality(run_ats) = 1 then run_ats end,
                case when cardinality(priorities) = 1 then priorities end,
                case when cardinality(trace_contexts) = 1 then trace_contexts end,
                case when cardinality(expires_ats) = 1 then expires_ats end,
                case when cardinality(insert_many.tags) = 1 then insert_many.tags end,
                case when cardinality(parent_ids) = 1 then parent_ids end,
                case when cardinality(args_versions) = 1 then args_versions end)
           as g (name, queue, run_at, priority, trace_context, expires_at, tags, parent_id, args_version);
  if cardinality(names) = 1 then names := null; end if;
  if cardinality(queues) = 1 then queues := null; end if;
  if cardinality(run_ats) = 1 then run_ats := null; end if;
  if cardinality(priorities) = 1 then priorities := null; end if;
  if cardinality(trace_contexts) = 1 then trace_contexts := null; end if;
  if cardinality(expires_ats) = 1 then expires_ats := null; end if;
  if cardinality(insert_many.tags) = 1 then tags := null; end if;
  if cardinality(parent_ids) = 1 then parent_ids := null; end if;
  if cardinality(args_versions) = 1 then args_versions := null; end if;
  -- Before the casts, which take seconds for millions of tags.
  if greatest(octet_length(common.tags), (select max(octet_length(t.tags)) from unnest(insert_many.tags) as t (tags))) > 65536 then
    raise exception 'the tags of a task have more than 65536 bytes as text; the limit is 512, with commas between them'
      using errcode = 'invalid_parameter_value';
  end if;
  tags_of_all := nullif(common.tags::text[], '{}');

  -- Ids are in the order of the tasks. The function draws the ids before the insert, because the inserted rows come
  -- back in no defined order.
  if are_alike then
    queue_of_all := (select q.name from dogged.queues q
                      where q.name = coalesce(common.queue, (select d.queue from dogged.task_definitions d
                                                              where d.name = common.name), 'default'));
    name_of_all := common.name;
    run_at_of_all := coalesce(common.run_at, now());
    deferred_are_all := run_at_of_all > now();
    trace_context_of_all := common.trace_context;
    expires_at_of_all := common.expires_at;
    are_all_sound := queue_of_all is not null and dogged.is_sound_task(common.name, common.run_at, common.priority,
                                                                       common.trace_context, common.expires_at, tags_of_all,
                                                                       common.parent_id, common.args_version);
    if are_all_sound then
      parent_id_of_all := common.parent_id;
      args_version_of_all := nullif(common.args_version, 1);
      priority_of_all := coalesce(common.priority, 0);
      ids := coalesce(ids, (select array_agg(nextval('dogged.tasks_id_seq')) from (select generate_series(1, tasks)) as each));
    end if;
    -- PostgreSQL reads sets in the select list row by row, and stores the rows of a set in FROM first. Storing took 3 %
    -- of a call of 1,000 tasks.
    insert into dogged.tasks_live (id, queue, name, args, run_at, deferred, priority, trace_context, expires_at, tags, parent_id,
                                   args_version, unique_key)
    select t.id, queue_of_all, name_of_all, t.args, run_at_of_all, deferred_are_all, priority_of_all,
           trace_context_of_all, expires_at_of_all, tags_of_all, parent_id_of_all, args_version_of_all, t.unique_key
      from (select unnest(ids) as id, unnest(insert_many.args) as args, unnest(insert_many.unique_keys) as unique_key) t
     where are_all_sound
       and (pg_column_size(t.args) <= surely_short or dogged.json_bytes(t.args, max_args_bytes) <= max_args_bytes);
  else
    ids := coalesce(ids, (select array_agg(nextval('dogged.tasks_id_seq')) from generate_series(1, tasks)));
    insert into dogged.tasks_live (id, queue, name, args, run_at, deferred, priority, trace_context, expires_at, tags, parent_id,
                                   args_version, unique_key)
    select ids[t.position], q.name, t.name, t.args, coalesce(t.run_at, now()), coalesce(t.run_at > now(), false),
           coalesce(t.priority, 0), t.trace_context, t.expires_at, t.tags, t.parent_id, nullif(t.args_version, 1),
           insert_many.unique_keys[t.position]
      -- offset 0: the text of tags is parsed once, not at each use.
      from (select coalesce(g.name, common.name) as name, g.args, g.queue, coalesce(g.run_at, common.run_at) as run_at,
                   coalesce(g.priority, common.priority) as priority,
                   coalesce(g.trace_context, common.trace_context) as trace_context,
                   coalesce(g.expires_at, common.expires_at) as expires_at,
                   coalesce(nullif(g.tags::text[], '{}'), tags_of_all) as tags,
                   coalesce(g.parent_id, common.parent_id) as parent_id,
                   coalesce(g.args_version, common.args_version) as args_version, g.position
              from unnest(names, insert_many.args, queues, run_ats, priorities, trace_contexts, expires_ats, insert_many.tags,
                          parent_ids, args_versions)
                     with ordinality as g (name, args, queue, run_at, priority, trace_context, expires_at, tags, parent_id,
                                           args_version, position)
            offset 0) t
      left join dogged.task_definitions d on d.name = t.name
      join dogged.queues q on q.name = coalesce(t.queue, common.queue, d.queue, 'default')
     where dogged.is_sound_task(t.name, t.run_at, t.priority, t.trace_context, t.expires_at, t.tags, t.parent_id, t.args_version)
       and (pg_column_size(t.args) <= surely_short or dogged.json_bytes(t.args, max_args_bytes) <= max_args_bytes);
  end if;
  get diagnostics inserted = row_count;

  if inserted <> tasks then
    -- No join and no sort: the scan stops at the first bad task. Common values, which may be long, are not copied for
    -- each task.
    select coalesce(t.name, common.name) as name, t.args, w.queue, coalesce(t.run_at, common.run_at) as run_at,
           coalesce(t.priority, common.priority, 0) as priority, coalesce(t.trace_context, common.trace_context) as trace_context,
           coalesce(t.expires_at, common.expires_at) as expires_at, coalesce(t.tags::text[], tags_of_all) as tags,
           coalesce(t.parent_id, common.parent_id) as parent_id, coalesce(t.args_version, common.args_version) as args_version,
           coalesce(numbers[t.position], t.position)::integer as number
      into bad
      from unnest(names, insert_many.args, queues, run_ats, priorities, trace_contexts, expires_ats, insert_many.tags, parent_ids,
                  args_versions) with ordinality
             as t (name, args, queue, run_at, priority, trace_context, expires_at, tags, parent_id, args_version, position)
     cross join lateral (
       select coalesce(t.queue, common.queue, (select d.queue from dogged.task_definitions d
                                                where d.name = coalesce(t.name, common.name)), 'default') as queue) w
     where (exists (select from dogged.queues q where q.name = w.queue)
            and dogged.is_sound_task(coalesce(t.name, common.name), coalesce(t.run_at, common.run_at),
                                     coalesce(t.priority, common.priority), coalesce(t.trace_context, common.trace_context),
                                     coalesce(t.expires_at, common.expires_at), coalesce(t.tags::text[], tags_of_all),
                                     coalesce(t.parent_id, common.parent_id), coalesce(t.args_version, common.args_version))
            and dogged.json_bytes(t.args, max_args_bytes) <= max_args_bytes
           ) is not true
     limit 1;
    if not found then
      raise exception 'a queue, a definition or a setting was changed while tasks were enqueued'
        using hint = 'Nothing was enqueued: do it again.', errcode = 'serialization_failure';
    end if;
    perform dogged.refuse_task(bad.name, bad.args, bad.queue, bad.run_at, bad.priority, bad.trace_context, bad.expires_at, bad.tags,
                               bad.parent_id, bad.args_version, bad.number);
  end if;

  has_limits := exists (select from dogged.queues q where q.max_depth is not null);
  -- The query for sleeping workers follows the insert and has its own snapshot. A worker that falls asleep meanwhile
  -- either sees the rows or waits for this transaction to end (fall_asleep.sql).
  some_may_sleep := has_old_snapshot or exists (select from dogged.workers w where w.asleep);
  if not has_limits and not some_may_sleep then return ids; end if;

  queues_used := case when are_alike then array[queue_of_all] else array(
    select coalesce(t.queue, common.queue, d.queue, 'default')
      from unnest(case when names is null and queues is null then array_fill(common.name, array[tasks]) else names end, queues)
             as t (name, queue)
      left join dogged.task_definitions d on d.name = coalesce(t.name, common.name)) end;
  if has_limits then
    perform dogged.require_room(case when are_alike then array_fill(queue_of_all, array[tasks]) else queues_used end, ids[1]);
  end if;
  if has_old_snapshot then
    perform dogged.end_enqueue_of_old_snapshot(queues_used);
  elsif some_may_sleep then
    queues_used := array(select distinct u.queue from unnest(queues_used) as u (queue));
    if exists (select from dogged.workers w where w.asleep and w.queues ?| queues_used) then
      perform pg_notify('dogged.wake', case when cardinality(queues_used) = 1 then queues_used[1] else '' end);
    end if;
  end if;
  return ids;
end $$;

COMMENT ON FUNCTION dogged.insert_many(names text[], args jsonb[], queues text[], run_ats timestamp with time zone[], priorities integer[], trace_contexts text[], expires_ats timestamp with time zone[], tags text[], parent_ids bigint[], args_versions integer[], ids bigint[], unique_keys text[], numbers integer[]) IS 'Internal: inserts the tasks of enqueue_many and of enqueue_many_unique, all or none, and returns their ids in order. ids, unique_keys, numbers: null, or an element for each task; ids are in the order in which they were drawn. numbers: the places of the tasks in their call, for errors; null: they are the whole call.';

CREATE FUNCTION dogged.is_declared(first_name text, second_name text DEFAULT NULL::text) RETURNS boolean
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
  return exists (select from dogged.workers w
                  where w.schedules ?& array_remove(array[first_name, second_name], null) and w.stopped_at is null and w.lease_ended_at is null);
end $$;

COMMENT ON FUNCTION dogged.is_declared(first_name text, second_name text) IS 'Internal: whether the program of a live worker declares the schedule, or both of two.';

CREATE FUNCTION dogged.is_one_line(value text) RETURNS boolean
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN (value !~ '[\u0001-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]'::text);

COMMENT ON FUNCTION dogged.is_one_line(value text) IS 'Internal: whether a text has no control character, no line separator and nothing that turns its direction.';

CREATE FUNCTION dogged.is_sound_task(name text, run_at timestamp with time zone, priority integer, trace_context text, expires_at timestamp with time zone, tags text[], parent_id bigint, args_version integer) RETURNS boolean
    LANGUAGE sql STABLE
    RETURN ((octet_length(name) <= 128) AND (name ~ '^[A-Za-z0-9][A-Za-z0-9._:/-]*$'::text) AND ((run_at IS NULL) OR ((run_at >= (now() - '00:05:00'::interval)) AND (run_at <= (now() + '10 years'::interval)))) AND ((priority IS NULL) OR ((priority >= '-32768'::integer) AND (priority <= 32767))) AND ((trace_context IS NULL) OR (octet_length(trace_context) <= 512)) AND ((expires_at IS NULL) OR ((expires_at > GREATEST(now(), run_at)) AND (expires_at <= (now() + '10 years'::interval)))) AND ((parent_id IS NULL) OR (parent_id > 0)) AND ((args_version IS NULL) OR ((args_version >= 1) AND (args_version <= 32767))) AND ((tags IS NULL) OR dogged.are_sound_tags(tags)));

COMMENT ON FUNCTION dogged.is_sound_task(name text, run_at timestamp with time zone, priority integer, trace_context text, expires_at timestamp with time zone, tags text[], parent_id bigint, args_version integer) IS 'Internal: whether enqueue takes a task, if its queue exists and its args are not too long.';

CREATE FUNCTION dogged.is_tick_decided(schedule_id bigint, tick timestamp with time zone, overlap dogged.schedule_overlap) RETURNS boolean
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
  return exists (select from dogged.schedule_ticks t
                  where t.schedule_id = is_tick_decided.schedule_id and t.scheduled_at = tick
                    and (t.outcome = 'fired' or t.outcome = 'waiting' and is_tick_decided.overlap <> 'cancel_other'));
end $$;

COMMENT ON FUNCTION dogged.is_tick_decided(schedule_id bigint, tick timestamp with time zone, overlap dogged.schedule_overlap) IS 'Internal: whether a tick has fired, or waits, so that the clock is not to start it.';

CREATE FUNCTION dogged.is_time_zone(name text) RETURNS boolean
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $_$
begin
  perform now() at time zone name;
  return is_time_zone.name ~ ('^(UTC|Etc/GMT[+]([0-9]|1[0-2])|Etc/GMT-([0-9]|1[0-4])'
                                || '|(Africa|America|Asia|Atlantic|Europe|Indian|Pacific)/[A-Z][a-z]+(_[A-Z][a-z]{2,})?)$')
         or (is_time_zone.name ~ '^[A-Z]' and is_time_zone.name <> 'Factory'
             and not exists (select from pg_timezone_abbrevs a where a.abbrev = upper(is_time_zone.name))
             and exists (select from pg_timezone_names z where z.name = is_time_zone.name));
exception when invalid_parameter_value then
  return false;
end $_$;

COMMENT ON FUNCTION dogged.is_time_zone(name text) IS 'Internal: whether this is the name of a time zone that the server knows, and no abbreviation.';

CREATE FUNCTION dogged.is_to_cancel_others(schedule_id bigint) RETURNS boolean
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
  return (select count(*) = 1 and bool_and(t.origin = 'clock') from dogged.schedule_ticks t
           where t.schedule_id = is_to_cancel_others.schedule_id and t.outcome = 'waiting');
end $$;

COMMENT ON FUNCTION dogged.is_to_cancel_others(schedule_id bigint) IS 'Internal: whether a tick of a schedule with the overlap cancel_other waits for the tasks that it cancels.';

CREATE FUNCTION dogged.numbers_exceed(value jsonb, most integer) RETURNS boolean
    LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $_$
declare
  bytes bigint := 0;
  number text;
begin
  for number in select n::text from jsonb_path_query(value, 'strict $.** ? (@.type() == "number")') n loop
    bytes := bytes + octet_length(number);
    if bytes > most then return true; end if;
  end loop;
  return false;
end $_$;

COMMENT ON FUNCTION dogged.numbers_exceed(value jsonb, most integer) IS 'Internal: whether the numbers of a document have more than `most` bytes as text. Stops counting as soon as they have.';

CREATE FUNCTION dogged.json_bytes(value jsonb, most integer) RETURNS integer
    LANGUAGE sql STABLE PARALLEL SAFE
    RETURN CASE WHEN ((pg_column_size(value) <= 2048) OR (NOT dogged.numbers_exceed(value, most))) THEN octet_length((value)::text) ELSE NULL::integer END;

COMMENT ON FUNCTION dogged.json_bytes(value jsonb, most integer) IS 'Internal: how many bytes a document has as text; null where its numbers alone have more than `most`.';

CREATE FUNCTION dogged.keep_rows_of_day(parent text, source text, day date) RETURNS bigint
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
  kept bigint;
begin
  -- A late write is not lost: its transaction has locked the parent already, so this step is postponed.
  execute format('lock table dogged.%I in share mode', source);
  kept := case when parent in ('task_attempts', 'task_steps') then dogged.make_kept_history(parent, source, day)
               else dogged.make_kept_tasks(parent, source, day) end;
  perform dogged.replace_day(parent, source, day, kept > 0);
  return kept;
end $$;

COMMENT ON FUNCTION dogged.keep_rows_of_day(parent text, source text, day date) IS 'Leaves of one partition only the rows to be kept, or drops the partition if there are none; returns the number of rows. Raises lock_not_available if the table was in use for longer than lock_timeout.';

CREATE FUNCTION dogged.kept_days_to_thin(parent text) RETURNS SETOF date
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'on'
    SET plan_cache_mode TO 'auto'
    SET jit TO 'off'
    AS $_$
declare
  kept record;
  others bigint[];
  is_due boolean;
begin
  for kept in select p.partition, p.day, dogged.queues_keeping(p.parent, p.day) as queues
                from dogged.partitions p where p.is_kept and p.parent = kept_days_to_thin.parent order by p.day loop
    if kept_days_to_thin.parent in ('task_attempts', 'task_steps') then
      -- Most tasks ended on the day of their attempts or, if a clock was set back, on the day before. One more day is
      -- read quickly.
      execute format(
        'select array(select distinct a.task_id from dogged.%1$I a
                       where not exists (select from dogged.tasks_done d
                                          where d.id = a.task_id and d.finished_at >= %2$L and d.finished_at < %3$L)
                         and not exists (select from dogged.tasks_failed f
                                          where f.id = a.task_id and f.finished_at >= %2$L and f.finished_at < %3$L))',
        kept.partition, (kept.day - 1)::timestamp at time zone 'UTC', (kept.day + 1)::timestamp at time zone 'UTC') into others;
      -- The other tasks are few. OFFSET forces one lookup by id for each: a join would read all tasks.
      is_due := cardinality(others) > 0 and exists (
        select from unnest(others) as other (id)
         where not exists (select from dogged.tasks_live t where t.id = other.id offset 0)
           and not exists (select from dogged.tasks_failed f where f.id = other.id offset 0)
           and not exists (select from dogged.tasks_done d where d.id = other.id offset 0));
    else
      -- A partition whose rows were all replayed or purged is due as well.
      execute format('select not exists (select from dogged.%1$I) or exists (select from dogged.%1$I t where t.queue <> all ($1))',
                     kept.partition) into is_due using kept.queues;
    end if;
    if is_due then return next kept.day; end if;
  end loop;
end $_$;

COMMENT ON FUNCTION dogged.kept_days_to_thin(parent text) IS 'Kept days of tasks_done, tasks_failed, task_attempts or task_steps with rows that need not be kept any longer: tasks whose queue''s own days are over, or attempts and steps whose task is gone. Kept days without rows are included.';

CREATE FUNCTION dogged.knows_task(task_names text[], args_versions jsonb, name text, args_version smallint) RETURNS boolean
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN ((name = ANY (task_names)) AND ((args_version IS NULL) OR (args_version <= COALESCE(((args_versions ->> name))::integer, 1))));

COMMENT ON FUNCTION dogged.knows_task(task_names text[], args_versions jsonb, name text, args_version smallint) IS 'Whether a worker with these task_names and args_versions (dogged.workers) runs a task with this name and version of its args.';

CREATE TABLE dogged.queues (
    name text NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    paused_at timestamp with time zone,
    paused_until timestamp with time zone,
    max_depth integer,
    concurrency integer,
    retry_budget double precision,
    min_retries_per_second double precision DEFAULT 10 NOT NULL,
    keep_done_days integer,
    keep_failed_days integer,
    CONSTRAINT queues_check CHECK (((paused_until IS NULL) OR (paused_at IS NOT NULL))),
    CONSTRAINT queues_concurrency_check CHECK (((concurrency >= 1) AND (concurrency <= 1000))),
    CONSTRAINT queues_keep_done_days_check CHECK (((keep_done_days >= 1) AND (keep_done_days <= 3650))),
    CONSTRAINT queues_keep_failed_days_check CHECK (((keep_failed_days >= 1) AND (keep_failed_days <= 3650))),
    CONSTRAINT queues_max_depth_check CHECK (((max_depth >= 1) AND (max_depth <= 100000000))),
    CONSTRAINT queues_min_retries_per_second_check CHECK (((min_retries_per_second >= (0.1)::double precision) AND (min_retries_per_second <= (1000000)::double precision))),
    CONSTRAINT queues_name_check CHECK (((octet_length(name) <= 128) AND (name ~ '^[A-Za-z0-9][A-Za-z0-9._:/-]*$'::text))),
    CONSTRAINT queues_retry_budget_check CHECK (((retry_budget >= (0.001)::double precision) AND (retry_budget <= (1)::double precision)))
);

COMMENT ON TABLE dogged.queues IS 'The queues that tasks may be enqueued to. A misspelt name is thus an error, and not a task that no worker runs. Workers add the queues of their tasks.';

COMMENT ON COLUMN dogged.queues.name IS 'Up to 128 of A-Z a-z 0-9 . _ : / - beginning with a letter or a digit.';

COMMENT ON COLUMN dogged.queues.created_at IS 'When the queue was added.';

COMMENT ON COLUMN dogged.queues.paused_at IS 'When the queue was paused (dogged.pause_queue); null: the queue is not paused. Workers claim nothing from a paused queue. Running tasks go on.';

COMMENT ON COLUMN dogged.queues.paused_until IS 'When the pause ends by itself. From then on the queue is not paused, whatever paused_at says. Null: the pause lasts until the queue is resumed.';

COMMENT ON COLUMN dogged.queues.max_depth IS 'How many tasks that have not ended the queue may hold. Enqueue refuses one more. Null: any number. Retries, and concurrent enqueues that are not committed, are not counted against this limit.';

COMMENT ON COLUMN dogged.queues.concurrency IS 'How many tasks of the queue each worker runs at once; null: the number that the worker was started with.';

COMMENT ON COLUMN dogged.queues.retry_budget IS 'The largest share of retries among the attempts of this queue that a worker begins within 10 s. Further retries wait. Null: any share.';

COMMENT ON COLUMN dogged.queues.min_retries_per_second IS 'The number of retries a second that each worker may begin whatever retry_budget says, so that a quiet queue can retry.';

COMMENT ON COLUMN dogged.queues.keep_done_days IS 'For how many days succeeded, discarded, cancelled and expired tasks of the queue are kept with their attempts, if longer than settings.keep_done_days. Null: as for all queues.';

COMMENT ON COLUMN dogged.queues.keep_failed_days IS 'The same for the queue''s dead letters and settings.keep_failed_days.';

CREATE FUNCTION dogged.lock_queue(name text) RETURNS dogged.queues
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
  queue dogged.queues;
begin
  perform dogged.require_queue_name(lock_queue.name);
  select q.* into queue from dogged.queues q where q.name = lock_queue.name for no key update;
  if not found then
    raise exception 'the queue "%" does not exist', lock_queue.name
      using errcode = '22Q01',
            hint = coalesce('Nearest to it: ' || dogged.nearest_queues(lock_queue.name) || '. ', '')
                   || 'A worker creates the queues of its tasks; dogged.create_queue(name) creates one now.';
  end if;
  return queue;
end $$;

COMMENT ON FUNCTION dogged.lock_queue(name text) IS 'The row of a queue, locked until the transaction ends. Raises an error with the nearest names if the queue does not exist.';

CREATE FUNCTION dogged.lock_queues(name text) RETURNS dogged.queues
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET lock_timeout TO '2s'
    AS $$
begin
  perform dogged.require_read_committed();
  begin
    lock table dogged.queues in access exclusive mode;
  exception when lock_not_available then
    raise exception 'the queue "%" was not changed: other transactions have used the queues for more than 2 s', lock_queues.name
      using errcode = 'lock_not_available', hint = 'Nothing has changed. Try again; `dogged doctor` names transactions that stay open.';
  end;
  return dogged.lock_queue(lock_queues.name);
end $$;

COMMENT ON FUNCTION dogged.lock_queues(name text) IS 'The row of a queue, with the table locked against every enqueue until the transaction ends. Raises an error if other transactions hold the table for 2 s.';

CREATE FUNCTION dogged.lock_schedule(name text) RETURNS dogged.schedules
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
  schedule dogged.schedules;
begin
  perform dogged.require_schedule_name(lock_schedule.name);
  select s.* into schedule from dogged.schedules s where s.name = lock_schedule.name for update;
  if not found then
    raise exception 'the schedule "%" does not exist', lock_schedule.name
      using errcode = 'invalid_parameter_value', hint = 'dogged.schedule(name, task, spec) creates one; `dogged schedules list` lists them.';
  end if;
  return schedule;
end $$;

COMMENT ON FUNCTION dogged.lock_schedule(name text) IS 'Internal: the row of a schedule, locked until the transaction ends.';

CREATE FUNCTION dogged.looked_after_at(schedule dogged.schedules, now_at timestamp with time zone) RETURNS timestamp with time zone
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
  return least(dogged.fires_at_of(schedule),
               case when dogged.first_waiting_tick(schedule.id) is not null then now_at + interval '1 second' end);
end $$;

COMMENT ON FUNCTION dogged.looked_after_at(schedule dogged.schedules, now_at timestamp with time zone) IS 'Internal: when workers look after a schedule again: its next tick is due, or a second is over while a tick waits.';

CREATE FUNCTION dogged.make_kept_history(parent text, source text, day date) RETURNS bigint
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET "DateStyle" TO 'ISO'
    SET "TimeZone" TO 'UTC'
    SET enable_seqscan TO 'on'
    SET plan_cache_mode TO 'auto'
    SET random_page_cost TO '1.1'
    SET jit TO 'off'
    AS $_$
declare
  from_time constant timestamptz := day::timestamp at time zone 'UTC';
  to_time constant timestamptz := (day + 1)::timestamp at time zone 'UTC';
  copied bigint;
begin
  execute format('create table dogged.%I (like dogged.%I including defaults including constraints including storage)',
                 parent || '_next', parent);
  -- A task ends with its last attempt, so a dead letter of an earlier day has no attempt in this one. One day of margin
  -- allows for a clock that was set back.
  execute format(
    'insert into dogged.%4$I
     select a.* from dogged.%1$I a
      where a.task_id in (select f.id from dogged.tasks_failed f where f.finished_at >= %2$L or f.finished_at is null
                           union all
                          select t.id from dogged.tasks_live t where t.attempt > 0
                           union all
                          %5$s
                           union all
                          select d.id from dogged.tasks_done d where d.finished_at >= %2$L and d.finished_at < %3$L)',
    source, from_time - interval '1 day', to_time, parent || '_next',
    case parent
      when 'task_attempts' then  -- all attempts of a task that succeeded at once are of the day of its end
        format('select d.id from dogged.tasks_done d
                 where d.enqueued_at < %1$L and d.finished_at >= %1$L
                   and d.attempt > 0 and (d.attempt > 1 or d.status <> ''succeeded'')
                   and (d.finished_at at time zone ''UTC'')::date > (d.enqueued_at at time zone ''UTC'')::date', to_time)
      else  -- a task that succeeded at once may have steps of another day than its end
        format('select s.task_id from (select distinct task_id from dogged.%1$I) s
                 where exists (select from dogged.tasks_done d
                                where d.id = s.task_id and d.enqueued_at < %2$L and d.finished_at >= %2$L)', source, to_time)
    end);
  get diagnostics copied = row_count;
  execute format('create index on dogged.%I (task_id, %I)', parent || '_next',
                 case parent when 'task_attempts' then 'attempt' else 'name' end);
  return copied;
end $_$;

COMMENT ON FUNCTION dogged.make_kept_history(parent text, source text, day date) IS 'Creates task_attempts_next or task_steps_next from rows of one partition; returns their number. The task of such a row is failed, pending or running, ended otherwise on a later day, or is kept longer.';

CREATE FUNCTION dogged.make_kept_tasks(parent text, source text, day date) RETURNS bigint
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'on'
    SET jit TO 'off'
    AS $_$
declare
  copied bigint;
begin
  execute format('create table dogged.%I (like dogged.%I including defaults including constraints including storage including indexes)',
                 parent || '_next', parent);
  execute format('insert into dogged.%I select t.* from dogged.%I t where t.queue = any ($1)', parent || '_next', source)
    using dogged.queues_keeping(parent, day);
  get diagnostics copied = row_count;
  return copied;
end $_$;

COMMENT ON FUNCTION dogged.make_kept_tasks(parent text, source text, day date) IS 'Creates tasks_done_next or tasks_failed_next from the rows of one partition whose queues keep them longer; returns their number.';

CREATE FUNCTION dogged.make_partition(parent text, day date) RETURNS boolean
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET "DateStyle" TO 'ISO'
    SET "TimeZone" TO 'UTC'
    SET lock_timeout TO '500ms'
    AS $_$
declare
  partition_name constant text := format('%s_%s', parent, to_char(day, 'YYYYMMDD'));
  from_time constant timestamptz := day::timestamp at time zone 'UTC';
  to_time constant timestamptz := (day + 1)::timestamp at time zone 'UTC';
  moment constant text := dogged.moment_of_partitions(parent);
begin
  if to_regclass('dogged.' || partition_name) is not null
     or to_regclass(format('dogged.%s_kept_%s', parent, to_char(day, 'YYYYMMDD'))) is not null then  -- see retention.sql
    return false;
  end if;
  -- Creates a separate table and then attaches it: CREATE TABLE … PARTITION OF would lock the parent against all
  -- others.
  execute format('create table dogged.%I (like dogged.%I including defaults including constraints including storage)',
                 partition_name, parent);
  execute format('lock table dogged.%I in access exclusive mode', parent || '_default');
  execute format('alter table dogged.%I disable trigger user', parent || '_default');
  execute format('with moved as (delete from dogged.%1$I where %2$I >= %3$L and %2$I < %4$L returning *)
                  insert into dogged.%5$I select * from moved',
                 parent || '_default', moment, from_time, to_time, partition_name);
  execute format('alter table dogged.%I enable trigger user', parent || '_default');
  execute format('alter table dogged.%I attach partition dogged.%I for values from (%L) to (%L)',
                 parent, partition_name, from_time, to_time);
  if parent in ('task_attempts', 'task_steps') then
    execute format('create trigger refuse_truncate before truncate on dogged.%I
                    execute function dogged.refuse_change_of_history()', partition_name);
  end if;
  return true;
end $_$;

COMMENT ON FUNCTION dogged.make_partition(parent text, day date) IS 'Internal: creates one day''s partition of a table of the history; false if the partition exists. Raises lock_not_available if the default partition is in use for longer than 500 ms.';

CREATE FUNCTION dogged.make_partitions() RETURNS integer
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
  made integer := 0;
  made_of_parent integer;
  parent text;
  day date;
begin
  perform from dogged.locks l where l.name = 'partitions' for update skip locked;
  if not found then
    return 0;  -- another worker or retention has the lock
  end if;
  foreach parent in array array['task_attempts', 'task_steps', 'tasks_done', 'tasks_failed', 'schedule_ticks', 'events'] loop
    begin
      made_of_parent := 0;
      for day in select dogged.days_to_make(parent) loop
        made_of_parent := made_of_parent + dogged.make_partition(parent, day)::integer;
      end loop;
      made := made + made_of_parent;
    exception when lock_not_available then
      null;  -- a reader is at work; each day of this table needs the same lock, so the next call makes them
    end;
  end loop;
  return made;
end $$;

COMMENT ON FUNCTION dogged.make_partitions() IS 'Creates the missing partitions of the coming days, and returns their number; 0 while another call holds the lock. Safe to call at any time.';

CREATE FUNCTION dogged.make_roles(prefix text DEFAULT NULL::text) RETURNS text[]
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $_$
declare
  former constant text := (select s.role_prefix from dogged.settings s);
  chosen constant text := coalesce(make_roles.prefix, former, rtrim('dogged.', '.'));
  role_name text;
begin
  if chosen !~ '^[a-z_][a-z0-9_]{0,53}$' or starts_with(chosen, 'pg_') then
    raise exception 'the prefix of role names "%" is not 1 to 54 of a-z 0-9 _ beginning with a letter or _ (and not with pg_)',
      left(chosen, 64) using errcode = 'invalid_parameter_value';
  end if;
  foreach role_name in array dogged.role_names(chosen) loop
    begin
      if to_regrole(role_name) is null then
        execute format('create role %I nologin', role_name);
      end if;
    exception
      when duplicate_object or unique_violation then
        null;  -- created at the same time for another schema
      when insufficient_privilege then
        raise exception 'the role "%" is missing, and "%" may not create roles', role_name, current_user
          using errcode = 'insufficient_privilege',
                hint = format('Let an administrator run: %s. Then run `dogged migrate --roles` again.',
                              (select string_agg(format('create role %I nologin', r.name), '; ')
                                 from unnest(dogged.role_names(chosen)) as r (name)
                                where to_regrole(r.name) is null));
    end;
  end loop;
  if former <> chosen then
    perform dogged.revoke_rights(former);
  end if;
  update dogged.settings set role_prefix = chosen where role_prefix is distinct from chosen;
  perform dogged.grant_rights();
  return dogged.role_names(chosen);
end $_$;

COMMENT ON FUNCTION dogged.make_roles(prefix text) IS 'Creates the missing roles of producers, workers, viewers and operators, grants all of them their rights, and returns their names. prefix: the beginning of the names; the former prefix, or the name of the schema. If the prefix changes, the former roles lose their rights here.';

CREATE FUNCTION dogged.meet_holder(holder bigint, taken_at timestamp with time zone, unique_while dogged.unique_while, on_conflict dogged.unique_conflict, unique_period interval, name text, unique_key text, args jsonb, latest interval, run_at timestamp with time zone, expires_at timestamp with time zone, args_version integer, number integer) RETURNS text
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
#variable_conflict use_column
declare
  changes constant boolean := meet_holder.on_conflict not in ('keep', 'refuse');
  locks constant boolean := changes or meet_holder.unique_while = 'pending';
  task dogged.tasks_live;
  holds boolean;
begin
  if now() >= meet_holder.taken_at + meet_holder.unique_period then return null; end if;
  loop
    select t.* into task from dogged.tasks_live t where t.id = meet_holder.holder;
    exit when task.status is distinct from 'pending';
    if task.expires_at <= clock_timestamp() then
      perform dogged.end_expired(array[meet_holder.holder]);
      continue;
    end if;
    exit when not locks;
    -- Only a pending task is locked: the report of a running one would wait for the lock.
    if changes then
      select t.* into task from dogged.tasks_live t
       where t.id = meet_holder.holder and t.status = 'pending' and (t.expires_at <= clock_timestamp()) is not true for update;
    else
      select t.* into task from dogged.tasks_live t
       where t.id = meet_holder.holder and t.status = 'pending' and (t.expires_at <= clock_timestamp()) is not true for share;
    end if;
    if found then
      -- A worker that looks meanwhile passes over the locked task, and may fall asleep until its next poll.
      if not task.deferred then perform pg_notify('dogged.wake', task.queue); end if;
      exit;
    end if;
    -- Its state has changed while this transaction waited for the lock.
  end loop;
  holds := case meet_holder.unique_while
             when 'pending' then task.status = 'pending'
             when 'live' then task.id is not null
             else task.id is not null or meet_holder.unique_period is not null
                  or exists (select from dogged.tasks t where t.id = meet_holder.holder) end;
  if holds is not true then return null; end if;
  if meet_holder.on_conflict = 'refuse' then
    raise exception '% is unique, and task % holds its key "%"',
      dogged.task_in_call(meet_holder.name, number) || case when number is not null then ',' else '' end, meet_holder.holder, meet_holder.unique_key
      using hint = 'Nothing was enqueued. With on_conflict keep, the call gives the id of that task.', errcode = 'UN001';
  end if;
  if not changes or task.status is distinct from 'pending' then return 'existed'; end if;
  perform dogged.change_holder(task, meet_holder.args, meet_holder.on_conflict, meet_holder.latest,
                               meet_holder.run_at, meet_holder.expires_at, meet_holder.args_version, number);
  return 'updated';
end $$;

COMMENT ON FUNCTION dogged.meet_holder(holder bigint, taken_at timestamp with time zone, unique_while dogged.unique_while, on_conflict dogged.unique_conflict, unique_period interval, name text, unique_key text, args jsonb, latest interval, run_at timestamp with time zone, expires_at timestamp with time zone, args_version integer, number integer) IS 'Internal: decides an enqueue of a unique key that the task `holder` took last: existed, updated, or null: the key is free.';

CREATE FUNCTION dogged.merge_dead_letters(ids bigint[], attempts integer[]) RETURNS bigint[]
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
  merged bigint[];
begin
  with held as materialized (
    select f.id, dogged.other_holder(f.name, f.unique_key, f.id) as holder
      from dogged.tasks_failed f
      join unnest(merge_dead_letters.ids, merge_dead_letters.attempts) as a (id, attempt) on a.id = f.id
     where f.id = any (merge_dead_letters.ids) and f.attempt = coalesce(a.attempt, f.attempt)
       and dogged.other_holder(f.name, f.unique_key, f.id) is not null
     order by f.id
       for update of f skip locked
  ), discarded as (
    update dogged.tasks t set status = 'discarded' where t.status = 'failed' and t.id = any (array(select h.id from held h))
    returning t.id
  ), audited as (
    insert into dogged.audit (actor, application, action, task_id, details)
    select dogged.audit_actor(), coalesce(current_setting('application_name', true), ''), 'merge', h.id,
           jsonb_build_object('into', h.holder)
      from held h join discarded d on d.id = h.id
  )
  select array_agg(d.id) into merged from discarded d;
  return merged;
end $$;

COMMENT ON FUNCTION dogged.merge_dead_letters(ids bigint[], attempts integer[]) IS 'Internal: ends dead letters as discarded whose unique key another task holds; returns their ids.';

CREATE FUNCTION dogged.merged_args(old jsonb, new jsonb) RETURNS jsonb
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN CASE WHEN ((jsonb_typeof(old) = jsonb_typeof(new)) AND (jsonb_typeof(old) = ANY (ARRAY['object'::text, 'array'::text]))) THEN (old || new) ELSE new END;

COMMENT ON FUNCTION dogged.merged_args(old jsonb, new jsonb) IS 'Internal: two objects as one, of whose common members the new ones count; two arrays one after the other; else the new value.';

CREATE FUNCTION dogged.mistake_in_tags(tags text[]) RETURNS text
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $_$
declare
  tag text;
begin
  -- First come the checks that do not look at each tag: there may be millions of tags.
  if cardinality(tags) > 256 then
    return format('it has %s tags; no more than 256 fit into 512 bytes with commas between them', cardinality(tags));
  elsif pg_column_size(tags) > 16384 then
    return format('its tags have %s bytes; the limit is 512, with commas between them', pg_column_size(tags));
  elsif array_ndims(tags) > 1 then
    return format('its tags %s are an array of arrays', left(tags::text, 128));
  end if;
  foreach tag in array tags loop
    if tag is null then return 'one of its tags is null'; end if;
    if tag !~ '^[A-Za-z0-9][A-Za-z0-9._:/-]*$' then
      return format('its tag "%s" is not made of A-Z a-z 0-9 . _ : / - beginning with a letter or a digit', left(tag, 128));
    end if;
  end loop;
  return format('its tags have %s bytes with commas between them; the limit is 512', octet_length(array_to_string(tags, ',')));
end $_$;

COMMENT ON FUNCTION dogged.mistake_in_tags(tags text[]) IS 'Internal: what is wrong with tags that enqueue refuses.';

CREATE FUNCTION dogged.moment_ago(claimed_at timestamp with time zone, microseconds bigint) RETURNS timestamp with time zone
    LANGUAGE sql STABLE
    RETURN GREATEST(claimed_at, (statement_timestamp() - ((microseconds)::double precision * '00:00:00.000001'::interval)));

COMMENT ON FUNCTION dogged.moment_ago(claimed_at timestamp with time zone, microseconds bigint) IS 'Internal: statement_timestamp() less microseconds, but not before claimed_at: the time of an event that a worker timed after its claim.';

CREATE FUNCTION dogged.moment_of_partitions(parent text) RETURNS text
    LANGUAGE sql IMMUTABLE
    RETURN CASE parent WHEN 'schedule_ticks'::text THEN 'scheduled_at'::text WHEN 'events'::text THEN 'emitted_at'::text ELSE 'finished_at'::text END;

COMMENT ON FUNCTION dogged.moment_of_partitions(parent text) IS 'Internal: the column by whose day a table of the history is partitioned.';

CREATE FUNCTION dogged.move_queue(from_queue text, to_queue text, name text DEFAULT NULL::text, most integer DEFAULT NULL::integer) RETURNS bigint
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
#variable_conflict use_column
declare
  ids bigint[];
begin
  perform dogged.require_queue(from_queue);
  perform dogged.require_queue(to_queue);
  if from_queue = to_queue then
    raise exception 'the queue "%" is both where tasks are to be moved from and to', from_queue
      using errcode = 'invalid_parameter_value', hint = 'Name two queues. Nothing was moved.';
  elsif most < 1 then
    raise exception 'most is %; it must be 1 or more', most
      using errcode = 'invalid_parameter_value', hint = 'Leave it out to move all. Nothing was moved.';
  end if;
  -- Rows that another transaction is changing are skipped without waiting.
  with live as (
    select t.id from dogged.tasks_live t
     where t.queue = from_queue and t.status = 'pending' and (move_queue.name is null or t.name = move_queue.name)
     order by t.id limit most for update skip locked
  ), dead as (
    select f.id from dogged.tasks_failed f
     where f.queue = from_queue and (move_queue.name is null or f.name = move_queue.name)
     order by f.id limit most for update skip locked
  )
  select array_agg(found.id) into ids
    from (select l.id from live l union all select d.id from dead d order by id limit most) found;
  return (select count(*) from dogged.move_tasks(ids, to_queue) m where m.result = 'moved');
end $$;

COMMENT ON FUNCTION dogged.move_queue(from_queue text, to_queue text, name text, most integer) IS 'Moves the pending tasks and the dead letters of a queue to another queue, like dogged.move_tasks, and returns their number. name: only tasks of this name; most: at most this many, those with the lowest ids. Locked tasks are skipped. Running tasks stay, and their retries return to the old queue.';

CREATE FUNCTION dogged.move_tasks(ids bigint[], queue text) RETURNS TABLE(id bigint, result text)
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
#variable_conflict use_column
declare
  moved bigint[];
begin
  perform dogged.require_queue(move_tasks.queue);
  perform pg_current_xact_id();  -- before a position is taken: see src/sql/claim/settle_watermarks.sql

  -- Waits for a running claim, promotion or completion, like dogged.cancel: the statements below see its result.
  perform from dogged.tasks_live t where t.id = any (ids) order by t.id for update;
  perform from dogged.tasks_failed f where f.id = any (ids) order by f.id for update;

  with old_live as (
    select t.id, t.queue, t.name from dogged.tasks_live t
     where t.id = any (ids) and t.status = 'pending' and t.queue <> move_tasks.queue
     order by t.id
  ), live as (
    -- Takes a new place, because workers of that queue may have passed over the old one (worker/claim/core/watermarks.hpp). So does a
    -- task that waits: has_room takes it that a queue grows by no more than the numbers that were drawn.
    update dogged.tasks_live t
       set queue = move_tasks.queue,
           ready_position = nextval('dogged.tasks_id_seq')
      from old_live o where t.id = o.id
    returning t.id, o.queue as from_queue, o.name
  ), old_dead as (
    select f.id, f.queue, f.name from dogged.tasks_failed f where f.id = any (ids) and f.queue <> move_tasks.queue
  ), dead as (
    update dogged.tasks_failed f set queue = move_tasks.queue
      from old_dead o where f.id = o.id
    returning f.id, o.queue as from_queue, o.name
  ), gone as (
    select l.* from live l union all select d.* from dead d
  ), audited as (
    insert into dogged.audit (actor, application, action, task_id, details)
    select dogged.audit_actor(), coalesce(current_setting('application_name', true), ''), 'move', g.id,
           jsonb_build_object('name', g.name, 'queue', move_tasks.queue, 'was', g.from_queue)
      from (select * from gone order by id) g
  )
  select array_agg(g.id) into moved from gone g;

  -- Has its own snapshot, as in enqueue_many.
  if moved is not null and current_setting('transaction_isolation') <> 'read committed' then
    perform dogged.end_enqueue_of_old_snapshot(array[move_tasks.queue]);
  elsif moved is not null and exists (select from dogged.workers w where w.asleep and w.queues ? move_tasks.queue) then
    perform pg_notify('dogged.wake', move_tasks.queue);
  end if;

  return query
    select a.id,
           case when a.id = any (moved) then 'moved'
                when t.queue = move_tasks.queue then 'there'
                when t.status = 'running' then 'running'
                when t.status is not null then 'ended'
                else 'not_found' end
      from (select distinct u.id from unnest(ids) as u (id) where u.id is not null) a
      left join dogged.tasks t on t.id = a.id
     order by a.id;
end $$;

COMMENT ON FUNCTION dogged.move_tasks(ids bigint[], queue text) IS 'Moves pending tasks and dead letters to another queue in the caller''s transaction, and records this in dogged.audit. A ready task comes behind the tasks that are ready there. max_depth limits enqueue alone. Returns for each id: moved; there: the task is in that queue already; running: an attempt is under way, nothing has changed; ended: the task had ended before; not_found: no such task exists, or no longer.';

CREATE FUNCTION dogged.nearest_names(name text, names text[]) RETURNS text
    LANGUAGE plpgsql IMMUTABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
  return (select string_agg(near.name, ', ' order by near.rank)
            from (select n.name,
                         row_number() over (order by shared.pairs desc, abs(length(n.name) - length(nearest_names.name)),
                                                     n.name) as rank,
                         shared.pairs > 0 or max(shared.pairs) over () = 0 as is_near
                    from unnest(names) n (name)
                   cross join lateral (
                     select count(*) as pairs
                       from (select substr(lower(n.name), i, 2) from generate_series(1, length(n.name) - 1) i
                             intersect
                             select substr(lower(nearest_names.name), i, 2)
                               from generate_series(1, length(nearest_names.name) - 1) i) both_have) shared) near
           where near.rank <= 5 and near.is_near);
end $$;

COMMENT ON FUNCTION dogged.nearest_names(name text, names text[]) IS 'Internal: up to five of the names that are most like a name. If any shares two adjacent letters with the name, only such names are listed.';

CREATE FUNCTION dogged.nearest_queues(name text) RETURNS text
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
  return dogged.nearest_names(name, array(select q.name from dogged.queues q));
end $$;

COMMENT ON FUNCTION dogged.nearest_queues(name text) IS 'The names of up to five queues that are most like this name. If any queue shares two adjacent letters with the name, only such queues are listed.';

CREATE FUNCTION dogged.next_elapsed_tick(compiled dogged.compiled_spec, time_zone text, after timestamp with time zone) RETURNS timestamp with time zone
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
  moment timestamptz := after;
  zone_offset interval := dogged.offset_at(moment, time_zone);
  shown timestamp := moment at time zone time_zone;
  next_shown timestamp;
  tick timestamptz;
  horizon timestamptz;
begin
  loop
    next_shown := dogged.next_local_time(compiled, shown);
    if next_shown is null then return null; end if;
    tick := (next_shown - zone_offset) at time zone 'UTC';
    horizon := least(tick, moment + interval '1 day');
    if dogged.offset_at(horizon, time_zone) = zone_offset then
      if horizon = tick then return tick; end if;
      -- No day before that of the tick has a time, so a change of the clock there does not matter.
      moment := greatest(horizon, (date_trunc('day', next_shown) - zone_offset - interval '2 days') at time zone 'UTC');
      shown := moment at time zone time_zone;
    else
      moment := dogged.change_of_offset(moment, horizon, time_zone);
      if tick < moment then return tick; end if;
      shown := (moment at time zone time_zone) - interval '1 second';
    end if;
    zone_offset := dogged.offset_at(moment, time_zone);
  end loop;
end $$;

COMMENT ON FUNCTION dogged.next_elapsed_tick(compiled dogged.compiled_spec, time_zone text, after timestamp with time zone) IS 'Internal: the next time of a spec whose hours are * or */n.';

CREATE FUNCTION dogged.next_fixed_tick(compiled dogged.compiled_spec, time_zone text, after timestamp with time zone) RETURNS timestamp with time zone
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
  shown timestamp := after at time zone time_zone;
  offset_before constant interval := dogged.offset_at(after - interval '1 day', time_zone);
begin
  if offset_before > dogged.offset_at(after, time_zone) then
    shown := greatest(shown, ((dogged.change_of_offset(after - interval '1 day', after, time_zone) - interval '1 second')
                              at time zone 'UTC') + offset_before);
  end if;
  return dogged.first_instant_of(dogged.next_local_time(compiled, shown), time_zone);
end $$;

COMMENT ON FUNCTION dogged.next_fixed_tick(compiled dogged.compiled_spec, time_zone text, after timestamp with time zone) IS 'Internal: the next time of a spec with fixed hours.';

CREATE FUNCTION dogged.next_local_time(compiled dogged.compiled_spec, after timestamp without time zone) RETURNS timestamp without time zone
    LANGUAGE plpgsql IMMUTABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
  lowest constant timestamp := date_trunc('second', after) + interval '1 second';
  year integer := extract(year from lowest);
  month integer := extract(month from lowest);
  day integer := extract(day from lowest);
  time_of_day integer := extract(epoch from lowest::time);
  last_year constant integer := year + 41;
  days_of_month integer;
  found_time integer;
begin
  loop
    if (compiled.months >> month) & 1 = 1 then
      days_of_month := extract(day from make_date(year, month, 1) + interval '1 month' - interval '1 day');
      while day <= days_of_month loop
        if dogged.fits_day(compiled, year, month, day, days_of_month) then
          found_time := dogged.next_time_of_day(compiled, time_of_day);
          if found_time is not null then return make_date(year, month, day) + found_time * interval '1 second'; end if;
        end if;
        day := day + 1;
        time_of_day := 0;
      end loop;
    end if;
    month := month % 12 + 1;
    year := year + (month = 1)::integer;
    day := 1;
    time_of_day := 0;
    if year > last_year then return null; end if;
  end loop;
end $$;

COMMENT ON FUNCTION dogged.next_local_time(compiled dogged.compiled_spec, after timestamp without time zone) IS 'Internal: the first local time after `after` that a spec has; null if it has none in 41 years.';

CREATE FUNCTION dogged.next_tick(compiled dogged.compiled_spec, time_zone text, after timestamp with time zone) RETURNS timestamp with time zone
    LANGUAGE plpgsql STABLE STRICT
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
  anchor bigint;
begin
  if compiled.every_seconds is not null then
    anchor := extract(epoch from timestamp '1970-01-01' at time zone time_zone);
    return to_timestamp(anchor + (floor((extract(epoch from after) - anchor) / compiled.every_seconds) + 1) * compiled.every_seconds);
  elsif compiled.is_by_elapsed_time then
    return dogged.next_elapsed_tick(compiled, time_zone, after);
  end if;
  return dogged.next_fixed_tick(compiled, time_zone, after);
end $$;

COMMENT ON FUNCTION dogged.next_tick(compiled dogged.compiled_spec, time_zone text, after timestamp with time zone) IS 'The first time after `after` at which a compiled spec fires in a time zone; null if there is none in 41 years.';

CREATE FUNCTION dogged.next_ticks(spec text, time_zone text DEFAULT 'UTC'::text, after timestamp with time zone DEFAULT now(), most integer DEFAULT 10) RETURNS SETOF timestamp with time zone
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
  compiled constant dogged.compiled_spec := dogged.compile_spec(spec);
  tick timestamptz := after;
begin
  perform dogged.require_time_zone(spec, time_zone);
  perform dogged.require_number_of_ticks(most);
  if (after between '0001-01-01 UTC' and '9999-12-31 UTC') is not true then
    perform dogged.refuse_spec(spec, format('after is %s, which is not a time of the years 1 to 9999', coalesce(after::text, 'null')),
                               'Give a time, or leave after out for now.');
  end if;
  for i in 1 .. most loop
    tick := dogged.next_tick(compiled, time_zone, tick);
    exit when tick is null;
    return next tick;
  end loop;
end $$;

COMMENT ON FUNCTION dogged.next_ticks(spec text, time_zone text, after timestamp with time zone, most integer) IS 'The next 1 to 10,000 times at which a spec fires, to try a spec out: select * from dogged.next_ticks(''0 3 * * *'', ''Europe/Berlin'').';

CREATE FUNCTION dogged.next_ticks_of(name text, most integer DEFAULT 10) RETURNS TABLE(scheduled_at timestamp with time zone, fires_at timestamp with time zone)
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
  schedule dogged.schedules;
  now_at constant timestamptz := clock_timestamp();
  listed integer := 0;
begin
  select s.* into schedule from dogged.schedules s where s.name = next_ticks_of.name;
  perform dogged.require_number_of_ticks(most);
  if schedule.next_at is null then return; end if;
  if dogged.time_in(now_at, schedule.time_zone) is null then perform dogged.require_time_zone(name, schedule.time_zone); end if;
  schedule.next_at := case when schedule.paused_at is null then dogged.first_to_fire(schedule, now_at)
                           else dogged.next_tick(schedule.compiled, schedule.time_zone, greatest(now_at, schedule.last_tick_at)) end;
  for i in 1 .. 10000 loop
    exit when schedule.next_at is null or listed >= most;
    if not dogged.is_tick_decided(schedule.id, schedule.next_at, schedule.overlap) then
      scheduled_at := schedule.next_at;
      fires_at := greatest(fires_at, dogged.fires_at_of(schedule));
      listed := listed + 1;
      return next;
    end if;
    schedule.next_at := dogged.next_tick(schedule.compiled, schedule.time_zone, schedule.next_at);
  end loop;
end $$;

COMMENT ON FUNCTION dogged.next_ticks_of(name text, most integer) IS 'The next ticks of a schedule, beginning with the one that a worker would fire next: its time by the spec, and with its jitter. Those of a paused schedule are the ticks that it would have if it were resumed now. No rows: there is no such schedule, or its spec has no more times.';

CREATE FUNCTION dogged.next_time_of_day(compiled dogged.compiled_spec, lowest integer) RETURNS integer
    LANGUAGE plpgsql IMMUTABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
  hour constant integer := lowest / 3600;
  minute constant integer := lowest / 60 % 60;
  found_hour integer := dogged.first_of(compiled.hours, hour);
  found_minute integer;
  found_second integer;
begin
  if found_hour = hour then
    found_minute := dogged.first_of(compiled.minutes, minute);
    if found_minute = minute then
      found_second := dogged.first_of(compiled.seconds, lowest % 60);
      if found_second is not null then return hour * 3600 + minute * 60 + found_second; end if;
      found_minute := dogged.first_of(compiled.minutes, minute + 1);
    end if;
    if found_minute is not null then return hour * 3600 + found_minute * 60 + dogged.first_of(compiled.seconds, 0); end if;
    found_hour := dogged.first_of(compiled.hours, hour + 1);
  end if;
  return found_hour * 3600 + dogged.first_of(compiled.minutes, 0) * 60 + dogged.first_of(compiled.seconds, 0);
end $$;

COMMENT ON FUNCTION dogged.next_time_of_day(compiled dogged.compiled_spec, lowest integer) IS 'Internal: the first second of the day, not before `lowest`, that a spec has; null if there is none.';

CREATE FUNCTION dogged.note_call(producer uuid, call bigint, task_ids bigint[], answer text DEFAULT NULL::text) RETURNS int8multirange
    LANGUAGE plpgsql SECURITY DEFINER
    AS $$
declare
  how_many constant pg_catalog.int4 := pg_catalog.cardinality(note_call.task_ids);
  ids pg_catalog.int8multirange := '{}';
begin
  -- The ids ascend. If no other transaction drew an id meanwhile, the first and the last id describe the range.
  if note_call.task_ids[how_many] operator(pg_catalog.-) note_call.task_ids[1] operator(pg_catalog.+) 1
     operator(pg_catalog.=) how_many then
    ids := pg_catalog.int8multirange(pg_catalog.int8range(note_call.task_ids[1], note_call.task_ids[how_many], '[]'));
  elsif how_many operator(pg_catalog.>) 0 then
    ids := (select pg_catalog.range_agg(pg_catalog.int8range(id, id, '[]')) from pg_catalog.unnest(note_call.task_ids) as given (id));
  end if;
  if note_call.producer is null then return ids; end if;

  insert into dogged.producer_calls as last (producer, call, task_ids, answer)
  values (note_call.producer, note_call.call, ids, note_call.answer)
      on conflict on constraint producer_calls_pkey do update
     set call = excluded.call, task_ids = excluded.task_ids, answer = excluded.answer, called_at = pg_catalog.now()
   where last.call operator(pg_catalog.<) excluded.call;
  if not found then perform dogged.refuse_call(note_call.producer, note_call.call); end if;
  return ids;
end $$;

COMMENT ON FUNCTION dogged.note_call(producer uuid, call bigint, task_ids bigint[], answer text) IS 'Internal: records the tasks that a producer''s call enqueued, or its answer, in the transaction of that call, and returns the ids. Raises an error if that call, or a later one, is on record, so that a repeated call does not take effect twice. Without a producer nothing is recorded. task_ids: in the order in which the ids were given out.';

CREATE FUNCTION dogged.note_tick(schedule dogged.schedules, tick timestamp with time zone, outcome text, reason text, origin text, task_id bigint DEFAULT NULL::bigint, skipped_until timestamp with time zone DEFAULT NULL::timestamp with time zone) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
  insert into dogged.schedule_ticks as noted (schedule_id, scheduled_at, outcome, reason, origin, decided_at, late_ms, task_id, skipped_until)
  values (schedule.id, tick, outcome::dogged.tick_outcome, left(reason, 1000), origin, clock_timestamp(),
          case when origin = 'clock'
               then greatest(0, extract(epoch from clock_timestamp() - greatest(tick, case when tick = schedule.next_at then schedule.fires_at end)) * 1000) end,
          task_id, skipped_until)
      on conflict on constraint schedule_ticks_pkey do update
     set outcome = excluded.outcome, reason = excluded.reason, decided_at = excluded.decided_at, task_id = excluded.task_id,
         skipped_until = excluded.skipped_until, origin = excluded.origin, late_ms = excluded.late_ms
   where noted.outcome <> 'fired';
end $$;

COMMENT ON FUNCTION dogged.note_tick(schedule dogged.schedules, tick timestamp with time zone, outcome text, reason text, origin text, task_id bigint, skipped_until timestamp with time zone) IS 'Internal: writes what became of a tick. A tick that was fired stays as it is.';

CREATE FUNCTION dogged.offset_at(moment timestamp with time zone, time_zone text) RETURNS interval
    LANGUAGE sql STABLE
    RETURN ((moment AT TIME ZONE time_zone) - (moment AT TIME ZONE 'UTC'::text));

COMMENT ON FUNCTION dogged.offset_at(moment timestamp with time zone, time_zone text) IS 'Internal: how far local time was ahead of UTC.';

CREATE TABLE dogged.unique_keys (
    name text NOT NULL COLLATE pg_catalog."C",
    unique_key text NOT NULL COLLATE pg_catalog."C",
    task_id bigint NOT NULL,
    taken_at timestamp with time zone DEFAULT now() NOT NULL,
    held_while dogged.unique_while NOT NULL,
    held_until timestamp with time zone
)
WITH (fillfactor='70');

COMMENT ON TABLE dogged.unique_keys IS 'The last task of each unique key (dogged.enqueue_unique). Rows whose task holds the key no longer are removed in time.';

COMMENT ON COLUMN dogged.unique_keys.name IS 'The task''s name. Tasks of different names never share a key.';

COMMENT ON COLUMN dogged.unique_keys.unique_key IS 'The key, as the producer gave it, or the SHA-256 of the args that it covers.';

COMMENT ON COLUMN dogged.unique_keys.task_id IS 'The last task that took the key. The task may have ended.';

COMMENT ON COLUMN dogged.unique_keys.taken_at IS 'When the task took the key; a unique_period counts from then.';

COMMENT ON COLUMN dogged.unique_keys.held_while IS 'How long the call that enqueued the task wanted the key to be held.';

COMMENT ON COLUMN dogged.unique_keys.held_until IS 'The end of the period that this call named; null: it named none.';

CREATE FUNCTION dogged.other_holder(name text, unique_key text, id bigint) RETURNS bigint
    LANGUAGE sql STABLE
    BEGIN ATOMIC
 SELECT k.task_id
    FROM (dogged.unique_keys k
      JOIN dogged.tasks_live t ON ((t.id = k.task_id)))
   WHERE ((k.name = other_holder.name) AND (k.unique_key = other_holder.unique_key) AND (k.task_id <> other_holder.id));
END;

COMMENT ON FUNCTION dogged.other_holder(name text, unique_key text, id bigint) IS 'Internal: the task that has not ended and took this unique key last, if it is not the task id.';

CREATE FUNCTION dogged.parent_here(parent_id bigint, installation uuid) RETURNS bigint
    LANGUAGE plpgsql STABLE STRICT SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
  return (select parent_here.parent_id from dogged.settings s where s.installation = parent_here.installation);
end $$;

COMMENT ON FUNCTION dogged.parent_here(parent_id bigint, installation uuid) IS 'Internal: parent_id, as the parent of a task that is enqueued here, if the named installation is this one; else null.';

CREATE FUNCTION dogged.passed_over_tick(schedule_id bigint) RETURNS timestamp with time zone
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
  schedule dogged.schedules;
  now_at constant timestamptz := clock_timestamp();
  tick timestamptz;
begin
  select s.* into schedule from dogged.schedules s where s.id = passed_over_tick.schedule_id;
  if dogged.time_in(now_at, schedule.time_zone) is null then return null; end if;
  if schedule.paused_at is not null then schedule.next_at := schedule.last_tick_at + interval '1 microsecond'; end if;
  tick := dogged.next_tick(schedule.compiled, schedule.time_zone, now_at);
  -- Bounded, because a list asks for many schedules, and one may fire each second.
  for i in 1 .. 10000 loop
    exit when (tick < schedule.next_at) is not true;
    if not dogged.is_tick_decided(schedule.id, tick, schedule.overlap) then return tick; end if;
    tick := dogged.next_tick(schedule.compiled, schedule.time_zone, tick);
  end loop;
  return null;
end $$;

COMMENT ON FUNCTION dogged.passed_over_tick(schedule_id bigint) IS 'The first time of the spec, from now on, at which the schedule does not fire, because the server''s clock was ahead. Null: there is none. dogged.resume_schedule(name, from_now => true) is the remedy.';

CREATE FUNCTION dogged.pause_queue(name text, until timestamp with time zone DEFAULT NULL::timestamp with time zone) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
  before dogged.queues := dogged.lock_queue(pause_queue.name);
  was_paused boolean;
begin
  if not isfinite(pause_queue.until) then
    raise exception 'the queue "%": until is %', before.name, pause_queue.until
      using errcode = 'invalid_parameter_value', hint = 'Leave until out: then it is paused until it is resumed.';
  elsif pause_queue.until <= clock_timestamp() then
    raise exception 'the queue "%": until % is in the past (it is %)', before.name, pause_queue.until, clock_timestamp()
      using errcode = 'invalid_parameter_value', hint = 'Give a time to come. The queue was not changed.';
  end if;
  was_paused := before.paused_at is not null
                and (before.paused_until is null or before.paused_until > clock_timestamp());
  if was_paused and before.paused_until is not distinct from pause_queue.until then return false; end if;
  update dogged.queues q
     set paused_at = case when was_paused then before.paused_at else clock_timestamp() end, paused_until = pause_queue.until
   where q.name = before.name;
  perform dogged.record_audit(
    'pause_queue', null,
    jsonb_build_object('queue', before.name, 'until', pause_queue.until, 'was_paused', was_paused,
                       'was_until', case when was_paused then before.paused_until end));
  return true;
end $$;

COMMENT ON FUNCTION dogged.pause_queue(name text, until timestamp with time zone) IS 'Pauses a queue: workers claim nothing from the queue once this is committed. Running tasks go on, and tasks can be enqueued. until: the pause ends by itself then. For a paused queue the call changes that time. Returns false if nothing changed.';

CREATE FUNCTION dogged.pause_schedule(name text) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
  schedule dogged.schedules := dogged.lock_schedule(pause_schedule.name);
  now_at constant timestamptz := clock_timestamp();
begin
  if schedule.paused_at is not null then return false; end if;
  -- A schedule with an unknown time zone can be paused too.
  if schedule.fires_at <= now_at and dogged.time_in(now_at, schedule.time_zone) is not null then
    perform dogged.fire_or_put_off(schedule, now_at);
    select s.* into schedule from dogged.schedules s where s.id = schedule.id;
    if schedule.fires_at <= now_at then -- a call fires no more
      perform dogged.skip_until(schedule, now_at + interval '1 microsecond', 'missed');
      schedule.last_tick_at := greatest(schedule.last_tick_at, now_at);
      schedule.next_at := dogged.next_tick(schedule.compiled, schedule.time_zone, schedule.last_tick_at);
    end if;
  end if;
  update dogged.schedules s
     set paused_at = now_at, fires_at = null, next_at = schedule.next_at, last_tick_at = schedule.last_tick_at
   where s.id = schedule.id;
  perform dogged.record_audit('pause_schedule', null, jsonb_build_object('schedule', name));
  return true;
end $$;

COMMENT ON FUNCTION dogged.pause_schedule(name text) IS 'Pauses a schedule: no tick fires until it is resumed. The ticks of that time are skipped as paused, and are not made up for. Ticks that were due before are settled first: they fire, or are skipped as missed, by the schedule''s catch-up. Returns false if it was paused.';

CREATE FUNCTION dogged.place(priority smallint, ready_position bigint, id bigint) RETURNS bigint
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN ((priority * '140737488355328'::bigint) + COALESCE(ready_position, id));

COMMENT ON FUNCTION dogged.place(priority smallint, ready_position bigint, id bigint) IS 'Internal: the place of a ready task in its queue; the lowest place runs first.';

CREATE FUNCTION dogged.place_in_front() RETURNS bigint
    LANGUAGE sql
    RETURN (nextval('dogged.tasks_id_seq'::regclass) - '70368744177664'::bigint);

COMMENT ON FUNCTION dogged.place_in_front() IS 'Internal: a new ready_position before those of all tasks that were not released.';

CREATE FUNCTION dogged.prepare_task(name text, queue text DEFAULT NULL::text) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
  if prepare_task.queue is not null then perform dogged.create_queue(prepare_task.queue); end if;
  return exists (select from dogged.task_definitions d where d.name = prepare_task.name);
end $$;

COMMENT ON FUNCTION dogged.prepare_task(name text, queue text) IS 'For a producer, before it enqueues the first task of a name. Creates the queue that the task''s key names, unless the queue exists. Returns whether a worker has declared the task.';

CREATE FUNCTION dogged.prepare_to_count() RETURNS trigger
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
  insert into dogged.queue_depths (queue, held, last_id) values (new.name, new.max_depth, 0) on conflict do nothing;
  return null;
end $$;

COMMENT ON FUNCTION dogged.prepare_to_count() IS 'Creates the row that holds the depth of a queue with a limit.';

CREATE FUNCTION dogged.purge(id bigint) RETURNS text
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
  answer text;
begin
  if purge.id is null then
    raise exception 'the id of the task to purge is null'
      using hint = 'Give the id of a dead letter. Nothing was purged.', errcode = 'invalid_parameter_value';
  end if;
  loop
    perform from dogged.tasks_failed f where f.id = purge.id for update;  -- as in replay
    select p.result into answer from dogged.purge_many(array[purge.id]) p;
    exit when answer <> 'locked';
  end loop;
  return answer;
end $$;

COMMENT ON FUNCTION dogged.purge(id bigint) IS 'Deletes a dead letter in the caller''s transaction. Returns purged; not_failed: the task is no dead letter, or no longer one; not_found: no such task exists, or no longer.';

CREATE FUNCTION dogged.purge_many(ids bigint[], attempts integer[] DEFAULT NULL::integer[]) RETURNS TABLE(id bigint, result text)
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
#variable_conflict use_column
declare
  purged bigint[];
begin
  if cardinality(attempts) <> cardinality(ids) then
    raise exception 'there are % ids and % attempts; give one of each for a task, or no attempts', cardinality(ids),
      cardinality(attempts) using hint = 'Nothing was purged.', errcode = 'invalid_parameter_value';
  end if;

  with taken as materialized (
    select f.id
      from dogged.tasks_failed f
      join (select distinct on (a.id) a.id, a.attempt from unnest(ids, attempts) as a (id, attempt)) a on a.id = f.id
     where f.id = any (ids) and f.attempt = coalesce(a.attempt, f.attempt)
     order by f.id
       for update of f skip locked
  ), removed as (
    delete from dogged.tasks_failed f where f.id = any (array(select t.id from taken t)) returning f.*
  ), audited as (
    insert into dogged.audit (actor, application, action, task_id, details)
    select dogged.audit_actor(), coalesce(current_setting('application_name', true), ''), 'purge', r.id,
           jsonb_build_object('name', r.name, 'queue', r.queue, 'attempts', r.attempt, 'error_code', r.error_code,
                              'failed_at', r.finished_at)
      from (select * from removed order by id) r
  )
  select array_agg(r.id) into purged from removed r;

  return query
    with asked as (
      select distinct on (a.id) a.id, a.attempt from unnest(ids, attempts) as a (id, attempt) where a.id is not null
    ), rest as (
      select array_agg(a.id) as ids, array_agg(a.attempt) as attempts
        from asked a where not exists (select from unnest(purged) as p (id) where p.id = a.id)
    )
    select o.id, o.result
      from (select p.id, 'purged' as result from unnest(purged) as p (id)
            union all
            select s.id, s.result from rest r cross join lateral dogged.dead_letter_standing(r.ids, r.attempts) s) o
     order by o.id;
end $$;

COMMENT ON FUNCTION dogged.purge_many(ids bigint[], attempts integer[]) IS 'Deletes dead letters in the caller''s transaction, and skips dead letters that another transaction is changing. attempts: only dead letters that failed in that attempt. Returns for each id: purged, or the answer of dogged.dead_letter_standing.';

CREATE FUNCTION dogged.put_schedule(name text, settings jsonb) RETURNS text
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
  before dogged.schedules;
  put dogged.schedules;
  now_at timestamptz;
begin
  perform dogged.require_schedule_settings(name, settings);
  select s.* into before from dogged.schedules s where s.name = put_schedule.name for update;
  now_at := clock_timestamp();  -- the lock may have waited: ticks have fallen due meanwhile
  put := before;
  put.name := name;
  put.task := case when settings ? 'task' then settings ->> 'task' else before.task end;
  put.spec := case when settings ? 'spec' then settings ->> 'spec' else before.spec end;
  put.time_zone := coalesce(settings ->> 'time_zone', before.time_zone, 'UTC');
  put.args := coalesce(settings -> 'args', before.args, '{}');
  put.args_version := coalesce((settings ->> 'args_version')::numeric::smallint, before.args_version);
  put.queue := case when settings ? 'queue' then settings ->> 'queue' else before.queue end;
  put.priority := coalesce((settings ->> 'priority')::numeric::smallint, before.priority, 0);
  put.jitter_ms := coalesce((settings ->> 'jitter_ms')::numeric::bigint, before.jitter_ms, 0);
  put.overlap := coalesce(settings ->> 'overlap', before.overlap::text, 'skip');
  put.catch_up_ms := case when settings ? 'catch_up_ms' then (settings ->> 'catch_up_ms')::numeric::bigint when before.id is null then 3600000 else before.catch_up_ms end;
  put.catch_up_limit := case when settings ? 'catch_up_limit' then (settings ->> 'catch_up_limit')::numeric::integer
                             when before.id is null then 1
                             when settings ? 'catch_up_ms' and before.catch_up_limit = 0 then 1  -- else the window would have no effect
                             else before.catch_up_limit end;
  put.live_tasks := coalesce(before.live_tasks, '{}');
  if put.task is null then perform dogged.refuse_schedule(name, 'it has no task', 'Name the task that it is to enqueue.'); end if;
  if put.spec is null then perform dogged.refuse_schedule(name, 'it has no spec', 'Give the times at which it fires, for example 0 3 * * * or every 90s.'); end if;
  -- The server may have forgotten the name of a time zone that it knew. A look for any other name takes up to 60 ms.
  if put.time_zone is distinct from before.time_zone or dogged.time_in(now_at, put.time_zone) is null then
    perform dogged.require_time_zone(name, put.time_zone);
  end if;
  if before.id is not null and settings ? 'allow_frequent' and not settings ? 'spec' then
    perform dogged.refuse_schedule(name, 'allow_frequent is given without a spec, and has no effect',
                                   'It is for the spec that is given with it. Give both (--spec, --allow-frequent), or leave it out.');
  end if;
  if before.id is null or put.spec is distinct from before.spec then
    put.compiled := dogged.compile_spec(put.spec);
    perform dogged.require_sound_spec(name, put.compiled, put.spec, coalesce((settings ->> 'allow_frequent')::boolean, false));
  end if;
  perform dogged.require_enqueueable(put);
  if put is not distinct from before then return 'unchanged'; end if;
  put.id := coalesce(before.id, nextval(pg_get_serial_sequence('dogged.schedules', 'id')));
  if before.id is null or put.spec <> before.spec or put.time_zone <> before.time_zone then
    before := dogged.settle_times_before_change(before, now_at);
    put.live_tasks := coalesce(before.live_tasks, '{}');
    put.last_tick_at := before.last_tick_at;
    put.next_at := dogged.next_tick(put.compiled, put.time_zone, greatest(now_at, put.last_tick_at));
  end if;
  put.changed_at := clock_timestamp();  -- after the ticks of before were decided
  put.created_at := coalesce(put.created_at, put.changed_at);
  if put.paused_at is null then put.fires_at := dogged.looked_after_at(put, now_at); end if;
  return dogged.store_schedule(put);
end $$;

COMMENT ON FUNCTION dogged.put_schedule(name text, settings jsonb) IS 'Internal: creates or changes a schedule; settings that are not named stay. Returns created, changed or unchanged.';

CREATE FUNCTION dogged.queues_keeping(parent text, day date) RETURNS text[]
    LANGUAGE sql STABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
  select coalesce(array_agg(q.name), '{}')
    from dogged.queues q cross join dogged.settings s
   where (day + 1 + case parent when 'tasks_done' then greatest(s.keep_done_days, q.keep_done_days)
                                else greatest(s.keep_failed_days, q.keep_failed_days) end)::timestamp at time zone 'UTC'
         > clock_timestamp()
$$;

COMMENT ON FUNCTION dogged.queues_keeping(parent text, day date) IS 'The queues whose tasks in this day of tasks_done or tasks_failed are to be kept now.';

CREATE FUNCTION dogged.queues_to_tell_of() RETURNS text
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
  if not has_table_privilege(coalesce(nullif(current_setting('role'), 'none'), session_user), 'dogged.queues', 'select') then
    return '';
  end if;
  return (select format('There are: %s. ', string_agg(q.name, ', ' order by q.name))
            from (select * from dogged.queues order by name limit 20) q);
end $$;

COMMENT ON FUNCTION dogged.queues_to_tell_of() IS 'Internal: the names of queues for an error message. Empty if the session may not read queues: a login that may only enqueue does not learn their names.';

CREATE FUNCTION dogged.recent_figures() RETURNS TABLE(queue text, attempts bigint, ended_per_minute numeric, failed_per_minute numeric, retry_share numeric, wait_p50 interval, wait_p95 interval, run_p50 interval, run_p95 interval)
    LANGUAGE sql STABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET jit TO 'off'
    AS $$
  with rates as (
    select a.queue, count(*) as attempts,
           round(count(*) filter (where not a.will_retry) / 5.0, 1) as ended_per_minute,
           round(count(*) filter (where not a.will_retry and a.outcome in ('failed', 'timed_out', 'lost')) / 5.0, 1)
             as failed_per_minute,
           round(count(*) filter (where a.will_retry and a.outcome in ('failed', 'timed_out'))::numeric / count(*), 3)
             as retry_share
      from dogged.task_attempts a
     where a.finished_at >= now() - interval '5 minutes'
     group by a.queue
  ), sample as (
    -- All attempts of a queue if it has up to 500, else about 500. A hash selects them, independently of end times and
    -- durations.
    select a.task_id, a.attempt, a.queue, a.outcome, a.started_at, a.finished_at
      from dogged.task_attempts a
      join rates r on r.queue = a.queue
     where a.finished_at >= now() - interval '5 minutes'
       and (hashint8extended(a.task_id, a.attempt) & 1073741823) * r.attempts < 500 * 1073741824::bigint
  ), times as (
    select s.queue,
           percentile_cont(0.5) within group (order by s.waited) as wait_p50,
           percentile_cont(0.95) within group (order by s.waited) as wait_p95,
           percentile_cont(0.5) within group (order by s.ran) as run_p50,
           percentile_cont(0.95) within group (order by s.ran) as run_p95
      from (select s.queue, case when s.outcome <> 'lost' then s.finished_at - s.started_at end as ran,
                   (select t.waited from dogged.task_timeline t
                     where t.task_id = s.task_id and t.attempt = s.attempt and t.finished_at = s.finished_at limit 1) as waited
              from sample s) s
     group by s.queue
  )
  select r.queue, r.attempts, r.ended_per_minute, r.failed_per_minute, r.retry_share, t.wait_p50, t.wait_p95, t.run_p50, t.run_p95
    from rates r left join times t on t.queue = r.queue
$$;

COMMENT ON FUNCTION dogged.recent_figures() IS 'Internal: the figures of queue_stats on the attempts of the last five minutes, one row for each queue with such attempts.';

CREATE TABLE dogged.audit (
    id bigint NOT NULL,
    at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    actor text NOT NULL,
    application text NOT NULL,
    action text NOT NULL,
    task_id bigint,
    details jsonb DEFAULT '{}'::jsonb NOT NULL
);

COMMENT ON TABLE dogged.audit IS 'Changes that people made by hand: cancelled, replayed, rescheduled and purged tasks, paused queues, opened circuits. Append-only: UPDATE, DELETE and TRUNCATE are refused.';

COMMENT ON COLUMN dogged.audit.id IS 'Ascends in the order of writing.';

COMMENT ON COLUMN dogged.audit.at IS 'When the action was done.';

COMMENT ON COLUMN dogged.audit.actor IS 'The actor: the session''s setting dogged.actor (the dogged command sets it to user@host), else the database''s session_user.';

COMMENT ON COLUMN dogged.audit.application IS 'The session''s application_name.';

COMMENT ON COLUMN dogged.audit.action IS 'The action: cancel, replay, purge, pause_queue …';

COMMENT ON COLUMN dogged.audit.task_id IS 'The task of an action on one task; null for an action on a queue or a circuit.';

COMMENT ON COLUMN dogged.audit.details IS 'The other parameters of the action, and the values that it replaced.';

CREATE FUNCTION dogged.record_audit(action text, task_id bigint DEFAULT NULL::bigint, details jsonb DEFAULT '{}'::jsonb) RETURNS void
    LANGUAGE sql SECURITY DEFINER
    BEGIN ATOMIC
 INSERT INTO dogged.audit (actor, application, action, task_id, details)
   VALUES (dogged.audit_actor(), COALESCE(current_setting('application_name'::text, true), ''::text), record_audit.action, record_audit.task_id, COALESCE(record_audit.details, '{}'::jsonb));
END;

COMMENT ON FUNCTION dogged.record_audit(action text, task_id bigint, details jsonb) IS 'Writes a row of dogged.audit in the caller''s transaction.';

CREATE TABLE dogged.task_steps (
    task_id bigint NOT NULL,
    name text,
    attempt integer NOT NULL,
    task_name text NOT NULL,
    worker_id bigint,
    started_at timestamp with time zone NOT NULL,
    finished_at timestamp with time zone NOT NULL,
    result jsonb,
    waits_for text
)
PARTITION BY RANGE (finished_at);

COMMENT ON TABLE dogged.task_steps IS 'One row for each step of a task that has ended (Context::step), and one for each replay after which steps run again: append-only. UPDATE, DELETE and TRUNCATE are refused; retention drops partitions of whole days. task_steps_overview shows which steps count.';

COMMENT ON COLUMN dogged.task_steps.task_id IS 'The task: tasks.id.';

COMMENT ON COLUMN dogged.task_steps.name IS 'The name that the handler gave the step. Null: the task was replayed, and steps of attempts up to this one do not count.';

COMMENT ON COLUMN dogged.task_steps.attempt IS 'The attempt that ran the step. Of several attempts with a step of this name, the record of the latest counts.';

COMMENT ON COLUMN dogged.task_steps.task_name IS 'The task''s name, so that queries on many steps need no join.';

COMMENT ON COLUMN dogged.task_steps.worker_id IS 'The worker that ran the attempt: workers.id.';

COMMENT ON COLUMN dogged.task_steps.started_at IS 'When the step began; of a replay, when it was.';

COMMENT ON COLUMN dogged.task_steps.finished_at IS 'When the step ended; of a replay, when it was. Never before the task was enqueued: statements read the days since then alone, and a clock that was set back must not make them miss a step.';

COMMENT ON COLUMN dogged.task_steps.result IS 'What the step gave, as JSON. Show results to people only through task_steps_overview.';

COMMENT ON COLUMN dogged.task_steps.waits_for IS 'Of a wait that is over: sleep (Context::sleep) or event (Context::wait_event). Null: a step, or a replay.';

CREATE TABLE dogged.task_waits (
    task_id bigint NOT NULL,
    name text NOT NULL,
    attempt integer NOT NULL,
    for_event boolean NOT NULL,
    began_at timestamp with time zone NOT NULL,
    until timestamp with time zone NOT NULL,
    arrived_at timestamp with time zone,
    payload jsonb,
    CONSTRAINT arrived CHECK ((num_nulls(arrived_at, payload) = ANY (ARRAY[0, 2]))),
    CONSTRAINT task_waits_name_check CHECK (((octet_length(name) <= 128) AND (name ~ '^[A-Za-z0-9][A-Za-z0-9._:/-]*$'::text)))
);

COMMENT ON TABLE dogged.task_waits IS 'One row for each wait of a task that its handler has not taken note of yet. A wait that is over is a row of task_steps. Rows of tasks that have ended go with the next retention (dogged.forget_steps).';

COMMENT ON COLUMN dogged.task_waits.task_id IS 'The task: tasks.id.';

COMMENT ON COLUMN dogged.task_waits.name IS 'The name of the event, or of the sleep.';

COMMENT ON COLUMN dogged.task_waits.attempt IS 'The attempt that waits: the latest that has come to the wait.';

COMMENT ON COLUMN dogged.task_waits.for_event IS 'Whether an event ends the wait; false: time alone.';

COMMENT ON COLUMN dogged.task_waits.began_at IS 'When the first attempt came to the wait.';

COMMENT ON COLUMN dogged.task_waits.until IS 'When the wait is over without an event.';

COMMENT ON COLUMN dogged.task_waits.arrived_at IS 'When the event came; null: it has not.';

COMMENT ON COLUMN dogged.task_waits.payload IS 'What the event carries, as JSON.';

CREATE FUNCTION dogged.record_wait(task dogged.tasks_live, wait_name text, waits_for text, began timestamp with time zone, result jsonb) RETURNS void
    LANGUAGE sql
    BEGIN ATOMIC
 INSERT INTO dogged.task_steps (task_id, name, attempt, task_name, worker_id, started_at, finished_at, result, waits_for)
   VALUES ((record_wait.task).id, record_wait.wait_name, (record_wait.task).attempt, (record_wait.task).name, (record_wait.task).worker_id, record_wait.began, GREATEST((record_wait.task).enqueued_at, record_wait.began, clock_timestamp()), record_wait.result, record_wait.waits_for);
 DELETE FROM dogged.task_waits w
   WHERE ((w.task_id = (record_wait.task).id) AND (w.name = record_wait.wait_name));
END;

COMMENT ON FUNCTION dogged.record_wait(task dogged.tasks_live, wait_name text, waits_for text, began timestamp with time zone, result jsonb) IS 'Internal: records a wait that is over as a step.';

CREATE FUNCTION dogged.redacted(task_name text, document jsonb) RETURNS jsonb
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
  pointer text;
  path text[];
begin
  for pointer in select unnest(d.redact) from dogged.task_definitions d where d.name = redacted.task_name loop
    exit when document is null;
    if pointer = '' then
      return '"[redacted]"';
    end if;
    -- RFC 6901: ~1 means /, ~0 means ~; replaced in this order.
    select array_agg(replace(replace(token, '~1', '/'), '~0', '~') order by place) into path
      from regexp_split_to_table(substr(pointer, 2), '/') with ordinality as tokens (token, place);
    if document #> path is not null then
      document := jsonb_set(document, path, '"[redacted]"', false);
    end if;
  end loop;
  return document;
end $$;

COMMENT ON FUNCTION dogged.redacted(task_name text, document jsonb) IS 'The document with "[redacted]" in place of the values that the JSON pointers in task_definitions.redact name.';

CREATE FUNCTION dogged.refuse_arrays(lengths jsonb, tasks integer) RETURNS void
    LANGUAGE plpgsql IMMUTABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
  other record;
begin
  if refuse_arrays.tasks is null then
    raise exception 'args is null; give one for each task'
      using hint = 'Nothing was enqueued. For no tasks give an empty array: coalesce(array_agg(…), ''{}'').',
            errcode = 'invalid_parameter_value';
  end if;
  for other in
    select l.key as name, coalesce(l.value::integer, 0) as length from jsonb_each_text(refuse_arrays.lengths) as l
     where coalesce(l.value::integer, 0) not in (1, refuse_arrays.tasks) and (l.key = 'names' or l.value is not null)
     order by l.key <> 'names', l.key
     limit 1
  loop
    raise exception 'there are % % and % args; give one for each task, or one for all',
      other.length, other.name, refuse_arrays.tasks
      using hint = 'Nothing was enqueued.', errcode = 'invalid_parameter_value';
  end loop;
end $$;

COMMENT ON FUNCTION dogged.refuse_arrays(lengths jsonb, tasks integer) IS 'Internal: raises the error that says which array of enqueue_many does not fit its args. lengths: the length of each array, by its name.';

CREATE FUNCTION dogged.refuse_bad_retention() RETURNS trigger
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
  setting text;
  days text;
begin
  for setting, days in select key, value from jsonb_each_text(to_jsonb(new))
                        where key in ('keep_done_days', 'keep_failed_days', 'keep_attempts_days', 'keep_ticks_days',
                                      'keep_events_days') loop
    if days is null or days::integer not between 1 and 3650 then
      raise exception '% of dogged.settings is %: it must be 1 to 3650 days', setting, coalesce(days, 'null')
        using errcode = 'invalid_parameter_value', hint = 'Give a number of days. Nothing was changed.';
    end if;
  end loop;
  if new.keep_attempts_days < new.keep_done_days then
    raise exception 'keep_attempts_days of dogged.settings (%) is below keep_done_days (%): tasks would outlive their attempts',
                    new.keep_attempts_days, new.keep_done_days
      using errcode = 'invalid_parameter_value',
            hint = 'Set both in one UPDATE, keep_attempts_days not below keep_done_days. Nothing was changed.';
  end if;
  return new;
end $$;

COMMENT ON FUNCTION dogged.refuse_bad_retention() IS 'Raises an error that says what is wrong with keep_…_days. The constraints of the table would only name themselves.';

CREATE FUNCTION dogged.refuse_call(producer uuid, call bigint) RETURNS void
    LANGUAGE plpgsql IMMUTABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
  if refuse_call.producer is null or refuse_call.call is null then
    raise exception 'an idempotency key is a producer and a call, and % is null',
      case when refuse_call.producer is null then 'producer' else 'call' end
      using hint = 'Nothing was done. Give both, or neither.', errcode = 'invalid_parameter_value';
  end if;
  raise exception 'call % of producer % was made before, or a later one', refuse_call.call, refuse_call.producer
    using hint = 'Nothing was done now. What its last call has enqueued, dogged.call_made(producer, call) tells.',
          errcode = 'unique_violation';
end $$;

COMMENT ON FUNCTION dogged.refuse_call(producer uuid, call bigint) IS 'Internal: raises the error of a call that was made before (23505), or of half a key (22023).';

CREATE FUNCTION dogged.refuse_change_of_audit() RETURNS trigger
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
  raise exception '% of % is refused: what was done stays recorded', tg_op, tg_relid::regclass
    using errcode = 'restrict_violation';
end $$;

COMMENT ON FUNCTION dogged.refuse_change_of_audit() IS 'Keeps the audit append-only.';

CREATE FUNCTION dogged.refuse_change_of_history() RETURNS trigger
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
  raise exception '% of % is refused: attempts and steps are history and never change', tg_op, tg_relid::regclass
    using errcode = 'restrict_violation', hint = 'Retention drops partitions of whole days.';
end $$;

COMMENT ON FUNCTION dogged.refuse_change_of_history() IS 'Keeps task_attempts and task_steps append-only.';

CREATE FUNCTION dogged.refuse_completion(task_id bigint, attempt integer, worker_id bigint) RETURNS void
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
  mine constant text := format('attempt %s of task %s', refuse_completion.attempt, refuse_completion.task_id);
  now_is record;
  mistake text;
  remedy text := 'Let the transaction roll back: PostgreSQL commits nothing of it.';
  code text := 'LE001';
begin
  select t.status, t.attempt, t.worker_id into now_is from dogged.tasks t where t.id = refuse_completion.task_id;
  if not found then
    mistake := format('%s cannot be completed: there is no such task in dogged.tasks of the database "%s"', mine,
                      current_database());
    remedy := 'complete_in needs a transaction on the database that the worker took the task from.';
  elsif now_is.status = 'succeeded' and now_is.attempt = refuse_completion.attempt
        and now_is.worker_id = refuse_completion.worker_id then
    mistake := mine || ' has succeeded already';
    remedy := 'Call complete_in once. What this transaction wrote besides is rolled back.';
    code := 'invalid_parameter_value';
  else
    mistake := format('%s is not held by worker %s any more: ', mine, refuse_completion.worker_id) ||
      case when now_is.status = 'running' then
             format('the task is running as attempt %s under worker %s', now_is.attempt, now_is.worker_id)
           when now_is.status = 'pending' then format('the task is pending, after attempt %s', now_is.attempt)
           else format('the task has ended as %s, in attempt %s', now_is.status, now_is.attempt) end;
  end if;
  raise exception using message = mistake, hint = remedy, errcode = code;
end $$;

COMMENT ON FUNCTION dogged.refuse_completion(task_id bigint, attempt integer, worker_id bigint) IS 'Internal: raises the error that says what has become of an attempt that complete_in cannot end.';

CREATE FUNCTION dogged.refuse_dead_letter(letter jsonb) RETURNS void
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $_$
declare
  known constant text[] := '{id,name,queue,priority,args,enqueued_at,run_at,claimed_at,failed_at,attempts,retry_count,losses,snoozes,'
                           'error_code,error_message,error_details,trace_context,tags,parent_id,args_version,unique_key,history}';
  needed constant text[] := '{id,name,queue,args,enqueued_at,failed_at,attempts}';
  max_args_bytes constant integer := (select s.max_args_bytes from dogged.settings s);
  key text;
  code text;
  mistake text;
begin
  if jsonb_typeof(letter) is distinct from 'object' then
    raise exception 'a dead letter is a JSON object, and this is %', coalesce(jsonb_typeof(letter), 'null')
      using hint = 'Lines are as `dogged dead export` writes them.', errcode = 'invalid_parameter_value';
  end if;
  select k into key from jsonb_object_keys(letter) k where k <> all (known) limit 1;
  if found then
    mistake := format('"%s" is no member of a dead letter', left(key, 60));
  end if;
  select k into key from unnest(needed) k
   where letter -> k is null or (jsonb_typeof(letter -> k) = 'null' and k <> 'args') limit 1;
  if found then
    mistake := format('the member "%s" is missing', key);
  elsif (letter ->> 'id')::bigint not between 1 and 35184372088832 then
    mistake := format('id is %s; ids are from 1 to 35184372088832 (2^45)', letter ->> 'id');
  elsif letter ->> 'name' !~ '^[A-Za-z0-9][A-Za-z0-9._:/-]*$' or octet_length(letter ->> 'name') > 128 then
    mistake := format('name "%s" is not 1 to 128 of A-Z a-z 0-9 . _ : / - beginning with a letter or a digit',
                      left(letter ->> 'name', 128));
  elsif (dogged.json_bytes(letter -> 'args', max_args_bytes) <= max_args_bytes) is not true then
    mistake := format('args has %s bytes as JSON; the limit is %s (dogged.settings.max_args_bytes)',
                      coalesce(dogged.json_bytes(letter -> 'args', max_args_bytes)::text, 'many more'), max_args_bytes);
  elsif (letter ->> 'attempts')::bigint not between 1 and 1000000 then
    mistake := format('attempts is %s; a dead letter has 1 to 1000000', letter ->> 'attempts');
  elsif least((letter ->> 'retry_count')::integer, (letter ->> 'losses')::integer, (letter ->> 'snoozes')::integer) < 0 then
    mistake := 'retry_count, losses or snoozes is negative';
  elsif not isfinite((letter ->> 'failed_at')::timestamptz) or (letter ->> 'failed_at')::timestamptz > now() + interval '5 minutes'
        or not isfinite((letter ->> 'enqueued_at')::timestamptz) then
    mistake := format('failed_at %s, enqueued_at %s: not times of the past', letter ->> 'failed_at', letter ->> 'enqueued_at');
  elsif octet_length(letter ->> 'trace_context') > 512 then
    mistake := format('trace_context has %s bytes; the limit is 512', octet_length(letter ->> 'trace_context'));
  elsif jsonb_typeof(letter -> 'tags') not in ('array', 'null') then
    mistake := 'tags is not an array';
  elsif not dogged.are_sound_tags(dogged.tags_of_letter(letter)) then
    mistake := dogged.mistake_in_tags(dogged.tags_of_letter(letter));
  elsif (letter ->> 'parent_id')::bigint <= 0 then
    mistake := format('parent_id is %s; ids of tasks are positive', letter ->> 'parent_id');
  elsif (letter ->> 'args_version')::bigint not between 1 and 32767 then
    mistake := format('args_version is %s; versions are from 1 to 32767', letter ->> 'args_version');
  elsif octet_length(letter ->> 'unique_key') not between 1 and 512 then
    mistake := format('unique_key has %s bytes; it has 1 to 512', octet_length(letter ->> 'unique_key'));
  elsif letter ? 'history' and jsonb_typeof(letter -> 'history') <> 'array' then
    mistake := 'history is not an array';
  else
    select e.code into code
      from (select letter ->> 'error_code'
             union all
            select h ->> 'error_code' from jsonb_array_elements(coalesce(letter -> 'history', '[]')) h) e (code)
     where e.code !~ '^[A-Z][A-Z0-9_]{0,63}$' limit 1;
    if found then
      mistake := format('error_code "%s" is not 1 to 64 of A-Z 0-9 _ beginning with a letter', left(code, 64));
    end if;
  end if;
  if mistake is not null then
    raise exception using message = mistake, hint = 'Lines are as `dogged dead export` writes them.',
                          errcode = 'invalid_parameter_value';
  end if;
end $_$;

COMMENT ON FUNCTION dogged.refuse_dead_letter(letter jsonb) IS 'Raises an error that names the mistake in a dead letter to be imported, if there is one.';

CREATE FUNCTION dogged.refuse_for_depth(queue text, held integer, max_depth integer, more integer) RETURNS void
    LANGUAGE plpgsql IMMUTABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
  if refuse_for_depth.held + refuse_for_depth.more <= refuse_for_depth.max_depth then return; end if;
  raise exception '%',
    format('the queue "%s" is full: it holds %s task%s%s, its limit is %s%s', refuse_for_depth.queue, refuse_for_depth.held,
           case when refuse_for_depth.held <> 1 then 's' end,
           case when refuse_for_depth.held > refuse_for_depth.max_depth then ' or more' end, refuse_for_depth.max_depth,
           case when refuse_for_depth.held < refuse_for_depth.max_depth
                then format(', and %s more do not fit in', refuse_for_depth.more) end)
    using errcode = '53Q01',
          hint = 'Nothing was enqueued. Wait until tasks have ended, as EnqueueOptions::wait_for_room does, or raise '
                 'max_depth (dogged.set_queue, dogged queues set).';
end $$;

COMMENT ON FUNCTION dogged.refuse_for_depth(queue text, held integer, max_depth integer, more integer) IS 'Raises the error (53Q01) of an enqueue to a queue that has no room for this many more tasks.';

CREATE FUNCTION dogged.refuse_key(name text, args jsonb, unique_key text, unique_by text[], number integer DEFAULT NULL::integer) RETURNS void
    LANGUAGE plpgsql IMMUTABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
  mistake text;
  remedy text := 'Nothing was enqueued.';
  missing text;
begin
  select by.pointer into missing from unnest(refuse_key.unique_by) as by (pointer)
   where dogged.value_at(refuse_key.args, by.pointer) is null limit 1;
  if refuse_key.unique_key is not null and refuse_key.unique_by is not null then
    mistake := 'give either unique_key or unique_by, not both';
  elsif refuse_key.unique_key = '' then
    mistake := 'its unique_key is empty';
  elsif octet_length(refuse_key.unique_key) > 512 then
    mistake := format('its unique_key has %s bytes; the limit is 512', octet_length(refuse_key.unique_key));
  elsif array_ndims(refuse_key.unique_by) > 1 then
    mistake := format('its unique_by %s is an array of arrays', left(refuse_key.unique_by::text, 256));
  elsif array_position(refuse_key.unique_by, null) is not null then
    mistake := 'one of its unique_by is null';
  elsif cardinality(refuse_key.unique_by) > 16 then
    mistake := format('its unique_by has %s JSON pointers; the limit is 16', cardinality(refuse_key.unique_by));
  elsif found then
    mistake := format('it is to be unique by "%s", and its args have no value there', left(missing, 256));
    remedy := 'A JSON pointer begins with a slash, as /customer/id; '''' is the whole of the args. ' || remedy;
  else
    return;
  end if;
  raise exception '%: %', dogged.task_in_call(refuse_key.name, number), mistake using hint = remedy, errcode = 'invalid_parameter_value';
end $$;

COMMENT ON FUNCTION dogged.refuse_key(name text, args jsonb, unique_key text, unique_by text[], number integer) IS 'Internal: raises the error for a bad unique_key or unique_by, if there is a mistake.';

CREATE FUNCTION dogged.refuse_schedule(name text, mistake text, remedy text) RETURNS void
    LANGUAGE plpgsql IMMUTABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
  raise exception 'the schedule "%": %', left(refuse_schedule.name, 128), refuse_schedule.mistake
    using errcode = 'invalid_parameter_value', hint = refuse_schedule.remedy;
end $$;

COMMENT ON FUNCTION dogged.refuse_schedule(name text, mistake text, remedy text) IS 'Internal: raises the error that says what is wrong with a schedule.';

CREATE FUNCTION dogged.refuse_spec(spec text, mistake text, remedy text) RETURNS void
    LANGUAGE plpgsql IMMUTABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
  raise exception 'the spec "%": %', left(refuse_spec.spec, 100), refuse_spec.mistake
    using errcode = 'invalid_parameter_value', hint = refuse_spec.remedy;
end $$;

COMMENT ON FUNCTION dogged.refuse_spec(spec text, mistake text, remedy text) IS 'Internal: raises the error that says what is wrong with a spec.';

CREATE FUNCTION dogged.refuse_task(name text, args jsonb, queue text, run_at timestamp with time zone, priority integer, trace_context text, expires_at timestamp with time zone, tags text[], parent_id bigint, args_version integer, number integer DEFAULT NULL::integer) RETURNS void
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $_$
declare
  max_args_bytes constant integer := (select s.max_args_bytes from dogged.settings s);
  args_bytes constant integer := dogged.json_bytes(refuse_task.args, max_args_bytes);
  max_depth constant integer := (select q.max_depth from dogged.queues q where q.name = refuse_task.queue);
  what constant text := dogged.task_in_call(refuse_task.name, refuse_task.number);
  its_number constant text := coalesce(format(', number %s of the call', refuse_task.number), '');
  mistake text;
  remedy text := 'Nothing was enqueued.';
  code text := 'invalid_parameter_value';
begin
  if refuse_task.name is null or refuse_task.name = '' then
    mistake := 'a task needs a name, and it is ' || case when refuse_task.name is null then 'null' else 'empty' end || its_number;
  elsif octet_length(refuse_task.name) > 128 then
    mistake := format('the task name "%s…" has %s bytes; the limit is 128%s', left(refuse_task.name, 40),
                      octet_length(refuse_task.name), its_number);
  elsif refuse_task.name !~ '^[A-Za-z0-9][A-Za-z0-9._:/-]*$' then
    mistake := format('the task name "%s" is not made of A-Z a-z 0-9 . _ : / - beginning with a letter or a digit%s',
                      refuse_task.name, its_number);
  elsif refuse_task.args is null then
    mistake := what || ': args is null';
    remedy := 'Leave args out for {}, or give ''null''::jsonb for a JSON null.';
  elsif (args_bytes <= max_args_bytes) is not true then
    mistake := format('%s: its args have %s bytes as JSON; the limit is %s', what,
                      coalesce(args_bytes::text, 'many more'), max_args_bytes);
    remedy := 'Keep large data elsewhere and pass a reference, or raise dogged.settings.max_args_bytes.';
  elsif not exists (select from dogged.queues q where q.name = refuse_task.queue) then
    mistake := format('%s: the queue "%s" does not exist', what, left(refuse_task.queue, 128));
    remedy := dogged.queues_to_tell_of() ||
              'A worker creates the queues of its tasks; dogged.create_queue(name) creates one now.';
    code := '22Q01';
  elsif not isfinite(refuse_task.run_at) then
    mistake := format('%s: run_at is %s', what, refuse_task.run_at);
    remedy := 'Give a time, or leave run_at out to run at once.';
  elsif refuse_task.run_at < now() - interval '5 minutes' then
    mistake := format('%s: run_at %s is in the past (it is %s)', what, refuse_task.run_at, now());
    remedy := 'Leave run_at out to run at once; up to 5 minutes past is taken as now, for clocks that differ.';
  elsif refuse_task.run_at > now() + interval '10 years' then
    mistake := format('%s: run_at %s is more than 10 years ahead', what, refuse_task.run_at);
    remedy := 'Check its unit: milliseconds taken for seconds look like this.';
  elsif refuse_task.priority not between -32768 and 32767 then
    mistake := format('%s: priority %s is not between -32768 and 32767', what, refuse_task.priority);
  elsif octet_length(refuse_task.trace_context) > 512 then
    mistake := format('%s: trace_context has %s bytes; the limit is 512', what, octet_length(refuse_task.trace_context));
  elsif not isfinite(refuse_task.expires_at) then
    mistake := format('%s: expires_at is %s', what, refuse_task.expires_at);
    remedy := 'Give a time, or leave expires_at out: then the task does not expire.';
  elsif refuse_task.expires_at <= now() then
    mistake := format('%s: expires_at %s is in the past (it is %s), so it would never run', what, refuse_task.expires_at,
                      now());
    remedy := 'Give a later time, or leave expires_at out: then the task does not expire.';
  elsif refuse_task.expires_at <= refuse_task.run_at then
    mistake := format('%s: expires_at %s is not after run_at %s, so it would never run', what, refuse_task.expires_at,
                      refuse_task.run_at);
    remedy := 'Between the two is the time in which it may begin: move either.';
  elsif refuse_task.expires_at > now() + interval '10 years' then
    mistake := format('%s: expires_at %s is more than 10 years ahead', what, refuse_task.expires_at);
    remedy := 'Check its unit (milliseconds taken for seconds look like this), or leave it out.';
  elsif not dogged.are_sound_tags(refuse_task.tags) then
    mistake := what || ': ' || dogged.mistake_in_tags(refuse_task.tags);
  elsif refuse_task.parent_id <= 0 then
    mistake := format('%s: parent_id is %s; ids of tasks are positive', what, refuse_task.parent_id);
    remedy := 'Leave parent_id out, or null, for a task without a parent.';
  elsif refuse_task.args_version not between 1 and 32767 then
    mistake := format('%s: args_version %s is not between 1 and 32767', what, refuse_task.args_version);
    remedy := 'Give the version in the task''s key; leave args_version out for 1.';
  else
    if max_depth is not null then
      perform dogged.refuse_for_depth(refuse_task.queue, dogged.held_of_queue(refuse_task.queue, max_depth + 1), max_depth, 1);
    end if;
    raise exception 'a queue, a definition or a setting was changed while % was enqueued', what
      using hint = 'Nothing was enqueued: do it again.', errcode = 'serialization_failure';
  end if;
  raise exception using message = mistake, hint = remedy, errcode = code;
end $_$;

COMMENT ON FUNCTION dogged.refuse_task(name text, args jsonb, queue text, run_at timestamp with time zone, priority integer, trace_context text, expires_at timestamp with time zone, tags text[], parent_id bigint, args_version integer, number integer) IS 'Internal: raises the error of a task that enqueue refuses. number: as of task_in_call.';

CREATE FUNCTION dogged.refuse_to_forget_worker() RETURNS trigger
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
  if exists (select from dogged.tasks_live t
              where t.id = any (array(select unnest(c.task_ids) from dogged.claims c where c.worker_id = old.id))
                and t.worker_id = old.id and t.status = 'running') then
    raise exception 'worker % (%) still holds tasks', old.id, old.name
      using errcode = 'restrict_violation',
            hint = 'They are rescued when its lease has ended: delete the row when rescued_at is set.';
  end if;
  delete from dogged.claims where worker_id = old.id;
  return old;
end $$;

COMMENT ON FUNCTION dogged.refuse_to_forget_worker() IS 'Keeps a worker''s row for as long as tasks run under its lease.';

CREATE FUNCTION dogged.refuse_unique_bys(names text[], unique_bys text[]) RETURNS void
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
  for number in 1 .. cardinality(unique_bys) loop
    begin
      perform unique_bys[number]::text[];
    exception when invalid_text_representation then
      raise exception '%: its element of unique_bys is "%", which is not the text of an array',
        dogged.task_in_call(names[number], number), left(unique_bys[number], 256)
        using hint = 'Give each task the text of an array of JSON pointers, as ''{/customer/id}''. Nothing was enqueued.',
              errcode = 'invalid_parameter_value';
    end;
  end loop;
end $$;

COMMENT ON FUNCTION dogged.refuse_unique_bys(names text[], unique_bys text[]) IS 'Internal: raises the error for the first of unique_bys that is not the text of an array, if there is one.';

CREATE FUNCTION dogged.rename_queue(name text, new_name text) RETURNS bigint
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
  most constant integer := 100000;
  before dogged.queues;
  renamed dogged.queues;
  moved bigint;
begin
  -- Schedules first: fire_due_ticks locks a schedule, and reads its queue then. declare_schedules locks them by name, too.
  perform from dogged.schedules s where s.queue = rename_queue.name order by s.name for update;
  before := dogged.lock_queues(rename_queue.name);
  renamed := before;
  perform dogged.require_queue_name(rename_queue.new_name);
  if exists (select from dogged.queues q where q.name = rename_queue.new_name) then
    raise exception 'the queue "%" exists already', rename_queue.new_name
      using errcode = 'invalid_parameter_value',
            hint = 'dogged.move_queue(from_queue, to_queue) moves tasks there, dogged.delete_queue(name) deletes the old one.';
  elsif before.name = 'default' then
    raise exception 'the queue "default" cannot be renamed: tasks go there that name no queue'
      using errcode = 'invalid_parameter_value', hint = 'dogged.move_queue(from_queue, to_queue) moves its tasks.';
  end if;
  perform dogged.require_not_served(before.name);
  if exists (select from dogged.tasks_live t where t.queue = before.name and t.status = 'running') then
    raise exception 'tasks of the queue "%" run', before.name
      using errcode = 'object_in_use',
            hint = 'Nothing has changed. Workers rescue what a dead one has left; then do it again.';
  elsif dogged.held_of_queue(before.name, most + 1)
        + (select count(*) from (select from dogged.tasks_failed f where f.queue = before.name limit most + 1) dead) > most then
    raise exception 'the queue "%" holds more than % tasks and dead letters, and renaming would keep every enqueue waiting', before.name, most
      using errcode = 'object_in_use',
            hint = 'Nothing has changed. Create the new queue, move tasks by dogged.move_queue(from_queue, to_queue, most => 10000) '
                   'until nothing is left, and delete the old one.';
  end if;
  renamed.name := rename_queue.new_name;
  insert into dogged.queues select (renamed).*;
  update dogged.task_definitions d set queue = renamed.name where d.queue = before.name;
  update dogged.schedules s set queue = renamed.name, changed_at = clock_timestamp() where s.queue = before.name;
  moved := dogged.move_queue(before.name, renamed.name);
  -- move_queue skips rows that an emit, a replay or a call with a unique key has locked. These read no queue, so the lock on
  -- dogged.queues does not keep them out.
  if exists (select from dogged.tasks_live t where t.queue = before.name union all select from dogged.tasks_failed f where f.queue = before.name) then
    raise exception 'the queue "%" is in use: other transactions are changing tasks of it', before.name
      using errcode = 'object_in_use', hint = 'Nothing has changed. Do it again once they have ended.';
  end if;
  delete from dogged.queues q where q.name = before.name;
  perform dogged.record_audit('rename_queue', null, jsonb_build_object('queue', before.name, 'new_name', renamed.name, 'moved', moved));
  return moved;
end $$;

COMMENT ON FUNCTION dogged.rename_queue(name text, new_name text) IS 'Renames a queue that no worker serves, with its settings, and the definitions and schedules that name the queue. Its tasks and dead letters move along (at most 100,000). Returns the number of moved tasks. Change programs that name the old queue first: a worker that declares the old name creates the queue again.';

CREATE FUNCTION dogged.rename_schedule(name text, new_name text) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
  schedule constant dogged.schedules := dogged.lock_schedule(rename_schedule.name);
begin
  perform dogged.require_schedule_name(new_name);
  if exists (select from dogged.schedules s where s.name = new_name) then
    perform dogged.refuse_schedule(new_name, 'it exists already', 'Nothing was changed. Delete it first, or choose another name.');
  end if;
  perform dogged.require_undeclared(name, 'Give it the new name in its TASK_SCHEDULE, and name the old one there: .formerly.');
  update dogged.schedules s set name = new_name, changed_at = clock_timestamp() where s.id = schedule.id;
  perform dogged.record_audit('rename_schedule', null, jsonb_build_object('schedule', name, 'new_name', new_name));
end $$;

COMMENT ON FUNCTION dogged.rename_schedule(name text, new_name text) IS 'Renames a schedule. It keeps its ticks, so that none of them fires a second time under the new name. Raises an error while the program of a live worker declares it.';

CREATE FUNCTION dogged.renamed_at(formerly text, name text) RETURNS timestamp with time zone
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
  return (select max(d.first_seen_at) from dogged.schedule_declarations d
           where d.name = renamed_at.name and d.settings ->> 'formerly' = renamed_at.formerly);
end $$;

COMMENT ON FUNCTION dogged.renamed_at(formerly text, name text) IS 'Internal: when a program was first seen that declares the schedule `name` and says that it was formerly called otherwise; null: none was.';

CREATE FUNCTION dogged.renamed_schedule(formerly text, first_seen_at timestamp with time zone) RETURNS jsonb
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
  return (select s.declared || jsonb_build_object('name', s.name)
            from dogged.schedules s
           where dogged.renamed_at(renamed_schedule.formerly, s.name) > renamed_schedule.first_seen_at
             and dogged.is_declared(s.name) and not dogged.is_declared(s.name, renamed_schedule.formerly)
             and not exists (select from dogged.schedules other where other.name = renamed_schedule.formerly)
           order by s.declared_at desc limit 1);
end $$;

COMMENT ON FUNCTION dogged.renamed_schedule(formerly text, first_seen_at timestamp with time zone) IS 'Internal: the declaration that has renamed a schedule, if it is newer than the time and no schedule of the former name exists.';

CREATE FUNCTION dogged.replace_day(parent text, source text, day date, has_rows boolean) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET "DateStyle" TO 'ISO'
    SET "TimeZone" TO 'UTC'
    AS $$
declare
  next constant text := parent || '_next';
  kept constant text := format('%s_kept_%s', parent, to_char(day, 'YYYYMMDD'));
begin
  -- Proves the range of the rows to ATTACH, so that ATTACH does not read the rows.
  execute format('alter table dogged.%I add constraint of_day check (%s)', next,
                 pg_get_partition_constraintdef(format('dogged.%I', source)::regclass));
  execute format('lock table only dogged.%I in access exclusive mode', parent);
  execute format('drop table dogged.%I', source);
  if not has_rows then
    execute format('drop table dogged.%I', next);
    return;
  end if;
  execute format('alter table dogged.%I rename to %I', next, kept);
  execute format('alter table dogged.%I attach partition dogged.%I for values from (%L) to (%L)', parent, kept,
                 day::timestamp at time zone 'UTC', (day + 1)::timestamp at time zone 'UTC');
  execute format('alter table dogged.%I drop constraint of_day', kept);
  if parent in ('task_attempts', 'task_steps') then
    execute format('create trigger refuse_truncate before truncate on dogged.%I
                    execute function dogged.refuse_change_of_history()', kept);
  end if;
end $$;

COMMENT ON FUNCTION dogged.replace_day(parent text, source text, day date, has_rows boolean) IS 'Replaces one partition by the table …_next, or drops both if that table has no rows.';

CREATE FUNCTION dogged.replay(id bigint, run_at timestamp with time zone DEFAULT NULL::timestamp with time zone, args jsonb DEFAULT NULL::jsonb, steps text DEFAULT 'keep'::text, merge boolean DEFAULT false) RETURNS text
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
  max_args_bytes constant integer := (select s.max_args_bytes from dogged.settings s);
  answer text;
begin
  if replay.id is null then
    raise exception 'the id of the task to replay is null'
      using hint = 'Give the id of a dead letter. Nothing was replayed.', errcode = 'invalid_parameter_value';
  end if;
  loop
    -- Waits for a transaction that is changing the row. Each statement has its own snapshot, which shows the result of
    -- that transaction.
    perform from dogged.tasks_failed f where f.id = replay.id for update;
    select r.result into answer
      from dogged.replay_many(array[replay.id], replay.run_at, null,
                              case when replay.args is not null then array[replay.args] end, null, replay.steps, replay.merge) r;
    exit when answer <> 'locked';
  end loop;
  if answer = 'args_too_large' then
    raise exception 'task %: the new args have % bytes as JSON; the limit is %', replay.id,
      coalesce(dogged.json_bytes(replay.args, max_args_bytes)::text, 'many more'), max_args_bytes
      using hint = 'Keep large data elsewhere and pass a reference. Nothing was replayed.', errcode = 'invalid_parameter_value';
  end if;
  return answer;
end $$;

COMMENT ON FUNCTION dogged.replay(id bigint, run_at timestamp with time zone, args jsonb, steps text, merge boolean) IS 'Replays a dead letter in the caller''s transaction. The task keeps its id and its attempts, and has all of its retries again. run_at: at once. args: as they are. steps: keep, those on record run no more, or again, all run again. Returns replayed; key_held: another task that has not ended holds its unique key, and with merge merged: the dead letter is now discarded; not_failed: the task is no dead letter, or no longer one; not_found: no such task exists, or no longer.';

CREATE FUNCTION dogged.replay_many(ids bigint[], run_at timestamp with time zone DEFAULT NULL::timestamp with time zone, per_second double precision DEFAULT NULL::double precision, args jsonb[] DEFAULT NULL::jsonb[], attempts integer[] DEFAULT NULL::integer[], steps text DEFAULT 'keep'::text, merge boolean DEFAULT false) RETURNS TABLE(id bigint, result text, due_at timestamp with time zone)
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
#variable_conflict use_column
declare
  max_args_bytes constant integer := (select s.max_args_bytes from dogged.settings s);
  first_due constant timestamptz := greatest(replay_many.run_at, now());
  replayed bigint[];
  dues timestamptz[];
  queues_used text[];
  merged bigint[];
begin
  if cardinality(replay_many.args) <> cardinality(ids) or cardinality(attempts) <> cardinality(ids) then
    raise exception 'there are % ids, % args and % attempts; give one of each for a task, or null', cardinality(ids),
      coalesce(cardinality(replay_many.args)::text, 'no'), coalesce(cardinality(attempts)::text, 'no')
      using hint = 'Nothing was replayed.', errcode = 'invalid_parameter_value';
  elsif (steps in ('keep', 'again')) is not true then
    raise exception 'steps is %; it is keep or again', coalesce(quote_literal(steps), 'null')
      using hint = 'Nothing was replayed.', errcode = 'invalid_parameter_value';
  elsif not isfinite(first_due) or first_due > now() + interval '10 years' then
    raise exception 'run_at % is more than 10 years ahead', replay_many.run_at
      using hint = 'Leave run_at out to run at once. Nothing was replayed.', errcode = 'invalid_parameter_value';
  elsif not (per_second > 0 and per_second <= 1000000) then
    raise exception 'per_second is %; it is more than 0 and at most 1000000', per_second
      using hint = 'Nothing was replayed.', errcode = 'invalid_parameter_value';
  end if;

  perform pg_current_xact_id();  -- before a position is taken: see src/sql/claim/settle_watermarks.sql
  perform dogged.end_expired(array(
    select t.id
      from dogged.tasks_failed f
      join dogged.unique_keys k on k.name = f.name and k.unique_key = f.unique_key
      join dogged.tasks_live t on t.id = k.task_id and t.status = 'pending' and t.expires_at <= now()
     where f.id = any (replay_many.ids)
     order by t.id
       for update of t skip locked));
  if merge then merged := dogged.merge_dead_letters(ids, attempts); end if;
  -- Locks rows in the order of ids. Rows that another transaction is changing are skipped without waiting. A dead letter
  -- with a unique key waits for an enqueue of that key that is under way.
  with asked as materialized (
    select distinct on (a.id) a.id, a.args, a.attempt
      from unnest(ids, replay_many.args, attempts) with ordinality as a (id, args, attempt, position)
     where a.id is not null
     order by a.id, a.position
  ), taken as materialized (
    select f.id, f.finished_at, a.args as new_args, f.name, f.unique_key, last.task_id as last_holder, last.taken_at as last_taken_at
      from dogged.tasks_failed f join asked a on a.id = f.id
      left join dogged.unique_keys last on last.name = f.name and last.unique_key = f.unique_key
     where f.id = any (ids) and f.attempt = coalesce(a.attempt, f.attempt)
       and (a.args is null or dogged.json_bytes(a.args, max_args_bytes) <= max_args_bytes)
       and (f.unique_key is null or dogged.other_holder(f.name, f.unique_key, f.id) is null)
     order by f.id
       for update of f skip locked
  ), keyed as (
    -- Another transaction may have given the key to a task meanwhile. Then this dead letter stays. A replay may have given the key to
    -- the task that held it last; taken_at tells. Keys without a row come first, and each part is in the order of "C", as
    -- in enqueue_many_unique. In another order the two would wait for each other.
    insert into dogged.unique_keys as k (name, unique_key, task_id, held_while)
    select o.name, o.unique_key, o.id, 'live'
      from (select distinct on (t.name collate "C", t.unique_key collate "C") t.name, t.unique_key, t.id, t.last_holder
              from taken t where t.unique_key is not null
             order by t.name collate "C", t.unique_key collate "C", t.id) o
     order by o.last_holder is not null, o.name collate "C", o.unique_key collate "C"
        on conflict on constraint unique_keys_pkey do update
       set task_id = excluded.task_id, taken_at = now(), held_until = now() + (k.held_until - k.taken_at)
     where (k.task_id, k.taken_at) in (select t.last_holder, t.last_taken_at from taken t)
    returning k.task_id
  ), removed as (
    delete from dogged.tasks_failed f
     where f.id = any (array(select t.id from taken t where t.unique_key is null union all select k.task_id from keyed k))
    returning f.*
  ), due as (
    select r.*, t.new_args,
           coalesce(first_due + (row_number() over (order by r.id) - 1) / per_second * interval '1 second', first_due) as due_at
      from removed r join taken t on t.id = r.id
  ), inserted as (
    -- error_code and error_message keep the values of the last failed attempt. The due time is in next_retry_at,
    -- because run_at belongs to the first run.
    insert into dogged.tasks_live (id, status, queue, name, priority, args, enqueued_at, run_at, deferred, next_retry_at, attempt,
                                   worker_id, claimed_at, error_code, error_message, trace_context, tags,
                                   parent_id, args_version, unique_key, ready_position)
    select d.id, 'pending', d.queue, d.name, d.priority, coalesce(d.new_args, d.args), d.enqueued_at, d.run_at,
           d.due_at > now(), d.due_at, d.attempt, d.worker_id, d.claimed_at, d.error_code, d.error_message, d.trace_context, d.tags,
           d.parent_id, d.args_version, d.unique_key, nextval('dogged.tasks_id_seq')
      from (select * from due order by id) d
  ), steps_again as (
    -- The task runs from its beginning: the steps of its attempts so far do not count any more.
    insert into dogged.task_steps (task_id, attempt, task_name, started_at, finished_at)
    select d.id, d.attempt, d.name, clock_timestamp(), greatest(d.enqueued_at, clock_timestamp())
      from due d
     where replay_many.steps = 'again'
  ), audited as (
    insert into dogged.audit (actor, application, action, task_id, details)
    select dogged.audit_actor(), coalesce(current_setting('application_name', true), ''), 'replay', d.id,
           jsonb_build_object('attempts', d.attempt, 'retry_count', d.retry_count, 'losses', d.losses, 'error_code', d.error_code,
                              'failed_at', d.finished_at, 'due_at', d.due_at)
             || case when d.new_args is null then '{}' else jsonb_build_object('args', d.args) end
      from (select * from due order by id) d
  )
  select array_agg(d.id), array_agg(d.due_at), array_agg(distinct d.queue) into replayed, dues, queues_used from due d;

  if merge then merged := merged || dogged.merge_dead_letters(ids, attempts); end if;  -- twins among the ids
  -- Has its own snapshot, as in enqueue_many.
  if replayed is not null
     and (current_setting('transaction_isolation') <> 'read committed'
          or exists (select from dogged.workers w where w.asleep and w.queues ?| queues_used)) then
    perform pg_notify('dogged.wake', case when cardinality(queues_used) = 1 then queues_used[1] else '' end);
  end if;

  return query
    with asked as (
      select distinct on (a.id) a.id, a.args, a.attempt
        from unnest(ids, replay_many.args, attempts) with ordinality as a (id, args, attempt, position)
       where a.id is not null
       order by a.id, a.position
    ), done as (
      select d.id, d.due_at from unnest(replayed, dues) as d (id, due_at)
    ), rest as (
      select array_agg(a.id) as ids, array_agg(a.attempt) as attempts
        from asked a where not exists (select from done d where d.id = a.id)
    ), stands as (
      select s.id, case when s.result = 'locked' and a.args is not null
                             and (dogged.json_bytes(a.args, max_args_bytes) <= max_args_bytes) is not true then 'args_too_large'
                        when s.id = any (merged) then 'merged'
                        when s.result = 'locked' and exists (
                               select from dogged.tasks_failed f
                                where f.id = s.id and dogged.other_holder(f.name, f.unique_key, f.id) is not null) then 'key_held'
                        else s.result end as result
        from rest r
       cross join lateral dogged.dead_letter_standing(r.ids, r.attempts) s
        join asked a on a.id = s.id
    )
    select o.id, o.result, o.due_at
      from (select d.id, 'replayed' as result, d.due_at from done d
            union all
            select s.id, s.result, null from stands s) o
     order by o.id;
end $$;

COMMENT ON FUNCTION dogged.replay_many(ids bigint[], run_at timestamp with time zone, per_second double precision, args jsonb[], attempts integer[], steps text, merge boolean) IS 'Makes dead letters pending again in the caller''s transaction, and skips dead letters that another transaction is changing. run_at: no task is due before this time; per_second: from then on at most this many fall due in a second; args: new args by position, null where they stay; attempts: only dead letters that failed in that attempt; steps: keep, those on record run no more, or again, all run again; merge: a dead letter whose unique key another task holds that has not ended becomes discarded, because that task stands for it. Returns for each id: replayed, with the due time; merged; key_held: another task holds its unique key; args_too_large; or the answer of dogged.dead_letter_standing.';

CREATE FUNCTION dogged.require_enqueueable(schedule dogged.schedules) RETURNS void
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
  limits dogged.settings;
  remedy text;
begin
  perform dogged.require_schedule_name(schedule.name);
  select s.* into limits from dogged.settings s;
  if not coalesce(dogged.is_sound_task(schedule.task, null, schedule.priority, null, null, array['schedule:' || schedule.name], null, schedule.args_version), false)
     or coalesce(dogged.json_bytes(schedule.args, limits.max_args_bytes) > limits.max_args_bytes, true)
     or (schedule.queue is not null and not exists (select from dogged.queues q where q.name = schedule.queue)) then
    perform dogged.refuse_task(schedule.task, schedule.args, coalesce(schedule.queue, 'default'), null, schedule.priority, null, null,
                               array['schedule:' || schedule.name], null, schedule.args_version);
  end if;
exception when invalid_parameter_value or sqlstate '22Q01' then
  get stacked diagnostics remedy = pg_exception_hint;
  if starts_with(sqlerrm, 'the schedule') then raise; end if;
  raise exception 'the schedule "%": %', schedule.name, sqlerrm
    using errcode = sqlstate, hint = replace(remedy, 'Nothing was enqueued.', 'The schedule was not changed.');
end $$;

COMMENT ON FUNCTION dogged.require_enqueueable(schedule dogged.schedules) IS 'Internal: raises an error unless enqueue takes the tasks of a schedule.';

CREATE FUNCTION dogged.require_longer_than_all(queue text, setting text, days integer, days_of_all integer) RETURNS void
    LANGUAGE plpgsql IMMUTABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
  if require_longer_than_all.days < days_of_all then
    raise exception 'the queue "%": % is %, less than that of all queues, %', require_longer_than_all.queue, setting,
      require_longer_than_all.days, days_of_all
      using errcode = 'invalid_parameter_value',
            hint = format('A queue''s tasks can only be kept longer than others. The queue was not changed. To keep those of all others '
                          'longer than its own, lower %s of dogged.settings and raise theirs.', setting);
  end if;
end $$;

COMMENT ON FUNCTION dogged.require_longer_than_all(queue text, setting text, days integer, days_of_all integer) IS 'Raises an error where a queue''s own days would be fewer than those of dogged.settings.';

CREATE FUNCTION dogged.require_not_served(queue text) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
  served record;
begin
  select min(w.name) as name, count(*) as workers into served
    from dogged.workers w
   where dogged.worker_state(w.lease_until, w.stop_began_at, w.lease_ended_at, w.stopped_at) = 'live'
     and w.queues ? require_not_served.queue;
  if served.workers > 0 then
    raise exception 'the queue "%" is served by %', require_not_served.queue,
      case when served.workers = 1 then format('the worker "%s"', served.name)
           else format('%s workers, "%s" among them', served.workers, served.name) end
      using errcode = 'object_in_use',
            hint = 'Nothing has changed. Start them without it (--queues), or stop them; then do it again.';
  end if;
end $$;

COMMENT ON FUNCTION dogged.require_not_served(queue text) IS 'Raises an error if a live worker serves the queue.';

CREATE FUNCTION dogged.require_number_of_ticks(most integer) RETURNS void
    LANGUAGE plpgsql IMMUTABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
  if (most between 1 and 10000) is not true then
    raise exception 'most is %, which is not from 1 to 10000', coalesce(most::text, 'null')
      using errcode = 'invalid_parameter_value', hint = 'Say how many times to give, or leave most out for 10.';
  end if;
end $$;

COMMENT ON FUNCTION dogged.require_number_of_ticks(most integer) IS 'Internal: raises an error unless so many next times may be asked for.';

CREATE FUNCTION dogged.require_queue(name text) RETURNS void
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
  perform dogged.require_queue_name(require_queue.name);
  if not exists (select from dogged.queues q where q.name = require_queue.name) then
    raise exception 'the queue "%" does not exist', require_queue.name
      using errcode = '22Q01',
            hint = coalesce('Nearest to it: ' || dogged.nearest_queues(require_queue.name) || '. ', '')
                   || 'A worker creates the queues of its tasks; dogged.create_queue(name) creates one now.';
  end if;
end $$;

COMMENT ON FUNCTION dogged.require_queue(name text) IS 'Raises an error with the nearest names if the queue does not exist.';

CREATE FUNCTION dogged.require_queue_name(name text) RETURNS void
    LANGUAGE plpgsql IMMUTABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $_$
begin
  if coalesce(octet_length(require_queue_name.name) > 128
              or require_queue_name.name !~ '^[A-Za-z0-9][A-Za-z0-9._:/-]*$', true) then
    raise exception 'the queue name "%" is not 1 to 128 of A-Z a-z 0-9 . _ : / - beginning with a letter or a digit',
      left(require_queue_name.name, 128) using errcode = 'invalid_parameter_value';
  end if;
end $_$;

COMMENT ON FUNCTION dogged.require_queue_name(name text) IS 'Raises an error unless a queue may have this name.';

CREATE FUNCTION dogged.require_queue_settings(queue text, settings jsonb) RETURNS void
    LANGUAGE plpgsql IMMUTABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
  setting record;
begin
  if coalesce(jsonb_typeof(require_queue_settings.settings), 'null') <> 'object' then
    raise exception 'the queue "%": its settings are %, not a JSON object', require_queue_settings.queue,
      left(coalesce(require_queue_settings.settings::text, 'null'), 60)
      using errcode = 'invalid_parameter_value', hint = 'Write them as {"concurrency": 5, "max_depth": null}.';
  end if;
  for setting in
    select given.key, given.value, rule.least, rule.most, rule.is_whole
      from jsonb_each(require_queue_settings.settings) given
      left join (values ('concurrency', 1.0, 1000.0, true), ('max_depth', 1, 100000000, true),
                        ('retry_budget', 0.001, 1, false), ('min_retries_per_second', 0.1, 1000000, false),
                        ('keep_done_days', 1, 3650, true), ('keep_failed_days', 1, 3650, true))
             as rule (key, least, most, is_whole) on rule.key = given.key
     where jsonb_typeof(given.value) <> 'null' or rule.key is null
  loop
    if setting.least is null then
      raise exception 'the queue "%": "%" is not a setting', require_queue_settings.queue, left(setting.key, 60)
        using errcode = 'invalid_parameter_value',
              hint = 'There are concurrency, max_depth, retry_budget, min_retries_per_second, keep_done_days and keep_failed_days.';
    elsif jsonb_typeof(setting.value) <> 'number'
          or (setting.value)::numeric not between setting.least and setting.most
          or (setting.is_whole and trunc((setting.value)::numeric) <> (setting.value)::numeric) then
      raise exception 'the queue "%": % is %; it must be a %number from % to %, or null', require_queue_settings.queue,
        setting.key, left(setting.value::text, 60), case when setting.is_whole then 'whole ' else '' end,
        trim_scale(setting.least), trim_scale(setting.most)
        using errcode = 'invalid_parameter_value',
              hint = 'The queue was not changed. Give a number of this range; null takes the setting back (dogged queues set: none).';
    end if;
  end loop;
end $$;

COMMENT ON FUNCTION dogged.require_queue_settings(queue text, settings jsonb) IS 'Raises an error unless set_queue can take the settings.';

CREATE FUNCTION dogged.require_read_committed() RETURNS void
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
  if current_setting('transaction_isolation') <> 'read committed' then
    raise exception 'retention needs the isolation read committed, and this transaction is %', current_setting('transaction_isolation')
      using errcode = 'invalid_transaction_state',
            hint = 'Nothing was changed. Call it outside a transaction, and let default_transaction_isolation of the role be read committed.';
  end if;
end $$;

COMMENT ON FUNCTION dogged.require_read_committed() IS 'Raises an error in a transaction that would not see what was committed while it waited for a lock.';

CREATE FUNCTION dogged.require_room(queues text[], own_id bigint) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
  used record;
begin
  for used in
    select q.name, q.max_depth, wanted.more
      from (select w.name, count(*)::integer as more from unnest(require_room.queues) as w (name) group by w.name) wanted
      join dogged.queues q on q.name = wanted.name
     where q.max_depth is not null
     order by q.name
  loop
    if not dogged.has_room(used.name, used.max_depth, 0, require_room.own_id) then
      perform dogged.refuse_for_depth(
        used.name, dogged.held_of_queue(used.name, used.max_depth + used.more + 1) - used.more, used.max_depth, used.more);
    end if;
  end loop;
end $$;

COMMENT ON FUNCTION dogged.require_room(queues text[], own_id bigint) IS 'Raises an error if a queue holds more tasks than its max_depth after an insert. queues: the queue of each inserted task; own_id: the first of their ids.';

CREATE FUNCTION dogged.require_schedule_name(name text) RETURNS void
    LANGUAGE plpgsql IMMUTABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $_$
begin
  if coalesce(octet_length(require_schedule_name.name) > 128
              or require_schedule_name.name !~ '^[A-Za-z0-9][A-Za-z0-9._:/-]*$', true) then
    raise exception 'the schedule name "%" is not 1 to 128 of A-Z a-z 0-9 . _ : / - beginning with a letter or a digit',
      left(require_schedule_name.name, 128)
      using errcode = 'invalid_parameter_value', hint = 'Choose another name, for example nightly-report.';
  end if;
end $_$;

COMMENT ON FUNCTION dogged.require_schedule_name(name text) IS 'Internal: raises an error unless a schedule may have this name.';

CREATE FUNCTION dogged.require_schedule_settings(name text, settings jsonb) RETURNS void
    LANGUAGE plpgsql IMMUTABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
  setting record;
begin
  if coalesce(jsonb_typeof(settings), 'null') <> 'object' then
    perform dogged.refuse_schedule(name, format('its settings are %s, not a JSON object', left(coalesce(settings::text, 'null'), 60)),
                                   'Write them as {"spec": "0 3 * * *", "time_zone": "Europe/Berlin"}.');
  end if;
  for setting in
    select given.key, given.value, rule.type, rule.lowest, rule.highest
      from jsonb_each(require_schedule_settings.settings) given
      left join (values ('task', 'string', null::bigint, null::bigint), ('spec', 'string', null, null), ('time_zone', 'string', null, null),
                        ('queue', 'string?', null, null), ('overlap', 'string', null, null), ('args', 'any', null, null),
                        ('allow_frequent', 'boolean', null, null), ('args_version', 'number', 1, 32767),
                        ('priority', 'number', -32768, 32767), ('jitter_ms', 'number', 0, 86400000),
                        ('catch_up_ms', 'number?', 0, 31622400000), ('catch_up_limit', 'number?', 0, 10000))
             as rule (key, type, lowest, highest) on rule.key = given.key
  loop
    if setting.type is null then
      perform dogged.refuse_schedule(
        name, format('"%s" is not a setting', left(setting.key, 60)),
        'There are task, spec, time_zone, args, args_version, queue, priority, jitter_ms, overlap, catch_up_ms, catch_up_limit and allow_frequent.');
    elsif setting.type <> 'any' and jsonb_typeof(setting.value) <> rtrim(setting.type, '?')
          and not (setting.type like '%?' and jsonb_typeof(setting.value) = 'null') then
      perform dogged.refuse_schedule(name, format('its %s is %s, not a %s', setting.key, left(setting.value::text, 60), rtrim(setting.type, '?')),
                                     'Nothing was changed.');
    elsif jsonb_typeof(setting.value) = 'number'
          and ((setting.value)::numeric not between setting.lowest and setting.highest or trunc((setting.value)::numeric) <> (setting.value)::numeric) then
      perform dogged.refuse_schedule(
        name, format('its %s is %s; it must be a whole number from %s to %s', setting.key, left(setting.value::text, 60), setting.lowest, setting.highest)
              || case when setting.key like '%_ms' then format(' (%s)', justify_hours(setting.highest * interval '1 millisecond')) else '' end,
        'Nothing was changed.');
    end if;
  end loop;
  if settings ? 'overlap' and settings ->> 'overlap' not in ('skip', 'buffer_one', 'buffer_all', 'cancel_other', 'allow_all') then
    perform dogged.refuse_schedule(name, format('its overlap is "%s"', left(settings ->> 'overlap', 60)),
                                   'There are skip, buffer_one, buffer_all, cancel_other and allow_all.');
  end if;
end $$;

COMMENT ON FUNCTION dogged.require_schedule_settings(name text, settings jsonb) IS 'Internal: raises an error unless a schedule can take the settings: their names, types and ranges.';

CREATE FUNCTION dogged.require_sound_spec(name text, compiled dogged.compiled_spec, spec text, allow_frequent boolean) RETURNS void
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
  gap constant bigint := dogged.shortest_gap(compiled);
begin
  if dogged.next_tick(compiled, 'UTC', clock_timestamp()) is null then
    perform dogged.refuse_schedule(name, format('its spec "%s" never fires', spec),
                                   'No year of the next 40 has such a day. Check its day of month against its month.');
  elsif gap < 10 and not allow_frequent then
    perform dogged.refuse_schedule(
      name, format('its spec "%s" fires again after %s s', spec, gap),
      case when compiled.every_seconds is not null then '' else 'A cron spec with six fields begins with the second. ' end ||
      'If it is to fire more often than every 10 s, say so: allow_frequent (--allow-frequent).');
  end if;
end $$;

COMMENT ON FUNCTION dogged.require_sound_spec(name text, compiled dogged.compiled_spec, spec text, allow_frequent boolean) IS 'Internal: raises an error for a spec that never fires, or that fires more often than every 10 s where nobody has said that it may.';

CREATE FUNCTION dogged.require_time_zone(name text, time_zone text) RETURNS void
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
  ahead interval;
  hours integer;
begin
  if dogged.is_time_zone(time_zone) then return; end if;
  ahead := (select a.utc_offset from pg_timezone_abbrevs a where a.abbrev = upper(require_time_zone.time_zone));
  hours := extract(epoch from ahead) / 3600;
  if ahead is not null then
    perform dogged.refuse_schedule(
      name, format('its time zone "%s" is an abbreviation, which has no changes of the clock', time_zone),
      'Give the name of a place in the IANA time zone database, such as Europe/Berlin'
      || case when ahead = interval '0' then ', or UTC.'
              when ahead = hours * interval '1 hour' then format(', or Etc/GMT%s for this fixed offset.', to_char(-hours, 'SGFM90')) else '.' end);
  end if;
  perform dogged.refuse_schedule(
    name, format('its time zone "%s" is not known', left(time_zone, 60)),
    coalesce('Nearest to it: '
             || dogged.nearest_names(left(time_zone, 60), array(select z.name from pg_timezone_names z
                                                       where z.name ~ '^[A-Z]' and z.name <> 'Factory' and z.name <> z.abbrev)) || '. ', '')
    || 'Give a name of the IANA time zone database, such as Europe/Berlin or UTC; the column name of pg_timezone_names lists them.');
end $$;

COMMENT ON FUNCTION dogged.require_time_zone(name text, time_zone text) IS 'Internal: raises an error unless this is the name of a time zone.';

CREATE FUNCTION dogged.require_undeclared(name text, remedy text) RETURNS void
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
  worker text := (select w.name from dogged.workers w
                   where w.schedules ? require_undeclared.name and w.stopped_at is null and w.lease_ended_at is null
                   order by w.id desc limit 1);
begin
  if worker is not null then
    perform dogged.refuse_schedule(name, format('the program of worker %s declares it', worker), 'Nothing was changed. ' || remedy);
  end if;
end $$;

COMMENT ON FUNCTION dogged.require_undeclared(name text, remedy text) IS 'Internal: raises an error if the program of a live worker declares a schedule.';

CREATE FUNCTION dogged.require_unique_times(name text, unique_period interval, latest interval, on_conflict dogged.unique_conflict, number integer DEFAULT NULL::integer) RETURNS void
    LANGUAGE plpgsql IMMUTABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
  longest constant interval := '10 years';
  what constant text := dogged.task_in_call(name, number);
begin
  if latest is not null and coalesce(on_conflict, 'keep') not in ('reschedule', 'debounce', 'debounce_merge') then
    raise exception '%: latest is %, and on_conflict is %, which moves no run', what, latest, coalesce(on_conflict, 'keep')
      using hint = 'Leave latest out, or give on_conflict => ''reschedule'', ''debounce'' or ''debounce_merge''. Nothing was enqueued.',
            errcode = 'invalid_parameter_value';
  end if;
  if unique_period <= interval '0' or latest <= interval '0' then
    raise exception '%: % is %, and must be more than 0', what, case when unique_period <= interval '0' then 'unique_period' else 'latest' end,
      case when unique_period <= interval '0' then unique_period else latest end
      using hint = 'Leave it out for no limit. Nothing was enqueued.', errcode = 'invalid_parameter_value';
  elsif unique_period > longest or latest > longest then
    raise exception '%: % is %; the limit is %', what, case when unique_period > longest then 'unique_period' else 'latest' end,
      case when unique_period > longest then unique_period else latest end, longest
      using hint = 'Leave it out for no limit. Nothing was enqueued.', errcode = 'invalid_parameter_value';
  end if;
end $$;

COMMENT ON FUNCTION dogged.require_unique_times(name text, unique_period interval, latest interval, on_conflict dogged.unique_conflict, number integer) IS 'Internal: raises an error for a unique_period or a latest that is not more than 0, or more than 10 years, and for a latest without a conflict that it bounds.';

CREATE FUNCTION dogged.reschedule(id bigint, run_at timestamp with time zone) RETURNS text
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
  task record;
  due constant timestamptz := greatest(reschedule.run_at, now());  -- as in enqueue: clocks differ, so past is now
  waits constant boolean := due > now();
begin
  if reschedule.id is null then
    raise exception 'the id of the task to reschedule is null'
      using hint = 'Give the id that enqueue gave. Nothing was rescheduled.', errcode = 'invalid_parameter_value';
  elsif reschedule.run_at is null then
    raise exception 'task %: run_at is null', reschedule.id
      using hint = 'Give a time, or now() to run it at once. Nothing was rescheduled.', errcode = 'invalid_parameter_value';
  elsif not isfinite(reschedule.run_at) then
    raise exception 'task %: run_at is %', reschedule.id, reschedule.run_at
      using hint = 'Give a time, or now() to run it at once. Nothing was rescheduled.', errcode = 'invalid_parameter_value';
  elsif reschedule.run_at < now() - interval '5 minutes' then
    raise exception 'task %: run_at % is in the past (it is %)', reschedule.id, reschedule.run_at, now()
      using hint = 'Give now() to run it at once; up to 5 minutes past is taken as now, for clocks that differ. Nothing was '
                   'rescheduled.', errcode = 'invalid_parameter_value';
  elsif reschedule.run_at > now() + interval '10 years' then
    raise exception 'task %: run_at % is more than 10 years ahead', reschedule.id, reschedule.run_at
      using hint = 'Check its unit: milliseconds taken for seconds look like this. Nothing was rescheduled.',
            errcode = 'invalid_parameter_value';
  end if;

  -- Must come before a position is taken: see src/sql/claim/settle_watermarks.sql.
  perform pg_current_xact_id();
  -- Waits for a running claim, promotion or completion, as in dogged.cancel.
  select t.status, t.queue, t.name, t.attempt, t.deferred, coalesce(t.next_retry_at, t.run_at) as due, t.expires_at into task
    from dogged.tasks_live t where t.id = reschedule.id for update;

  if not found then
    return case when exists (select from dogged.tasks t where t.id = reschedule.id) then 'ended' else 'not_found' end;
  elsif task.status = 'running' then
    return 'running';
  elsif due >= task.expires_at then
    raise exception 'task %: run_at % is not before its expires_at %, so it would never run', reschedule.id, due, task.expires_at
      using hint = 'Give an earlier time, or enqueue the task anew. Nothing was rescheduled.',
            errcode = 'invalid_parameter_value';
  end if;

  -- A task that becomes ready takes a new place, because a worker may have passed over the old one
  -- (worker/claim/core/watermarks.hpp). A task that was ready keeps its place.
  update dogged.tasks_live t
     set run_at = case when task.attempt = 0 then due else t.run_at end,
         next_retry_at = case when task.attempt > 0 then due end,
         deferred = waits,
         ready_position = case when task.deferred and not waits then nextval('dogged.tasks_id_seq') else t.ready_position end
   where t.id = reschedule.id;
  perform dogged.record_audit('reschedule', reschedule.id,
                              jsonb_build_object('name', task.name, 'queue', task.queue, 'attempts', task.attempt,
                                                 'run_at', due, 'was', task.due));

  -- Follows the update, as in dogged.enqueue: a sleeping worker only knows the earliest due time as of when it fell
  -- asleep.
  if current_setting('transaction_isolation') <> 'read committed'
     or exists (select from dogged.workers w where w.asleep and w.queues ? task.queue) then
    perform pg_notify('dogged.wake', task.queue);
  end if;
  return 'rescheduled';
end $$;

COMMENT ON FUNCTION dogged.reschedule(id bigint, run_at timestamp with time zone) IS 'Sets the time of the next run of a pending task in the caller''s transaction, and records this in dogged.audit. The task may be ready, or wait for its first run or for a retry. now(): the task runs as soon as a worker is free. No retry is spent. Returns rescheduled; running: an attempt is under way, nothing has changed; ended: the task had ended before (dogged.replay runs a dead letter again); not_found: no such task exists, or no longer.';

CREATE FUNCTION dogged.reserve_producer(producer uuid) RETURNS void
    LANGUAGE sql SECURITY DEFINER
    BEGIN ATOMIC
 INSERT INTO dogged.producer_calls (producer, call, task_ids)
   VALUES (reserve_producer.producer, 0, '{}'::int8multirange) ON CONFLICT DO NOTHING;
END;

COMMENT ON FUNCTION dogged.reserve_producer(producer uuid) IS 'Ensures that a producer has a row to lock. Waits for a first call that is still running.';

CREATE FUNCTION dogged.resume_queue(name text) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
  before dogged.queues := dogged.lock_queue(resume_queue.name);
begin
  if before.paused_at is null or before.paused_until <= clock_timestamp() then return false; end if;
  update dogged.queues q set paused_at = null, paused_until = null where q.name = before.name;
  perform dogged.record_audit(
    'resume_queue', null,
    jsonb_build_object('queue', before.name, 'paused_at', before.paused_at, 'paused_until', before.paused_until));
  return true;
end $$;

COMMENT ON FUNCTION dogged.resume_queue(name text) IS 'Ends the pause of a queue: workers claim from the queue again once this is committed. Returns false if the queue was not paused.';

CREATE FUNCTION dogged.resume_schedule(name text, from_now boolean DEFAULT false) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
  schedule dogged.schedules := dogged.lock_schedule(resume_schedule.name);
  now_at constant timestamptz := clock_timestamp();
begin
  if schedule.paused_at is null and (not from_now or dogged.passed_over_tick(schedule.id) is null) then return false; end if;
  perform dogged.require_time_zone(name, schedule.time_zone);
  schedule := dogged.settle_times_before_change(schedule, now_at);
  if from_now then schedule.last_tick_at := least(schedule.last_tick_at, now_at); end if;
  schedule.next_at := dogged.next_tick(schedule.compiled, schedule.time_zone, greatest(now_at, schedule.last_tick_at));
  update dogged.schedules s
     set paused_at = null, next_at = schedule.next_at, last_tick_at = schedule.last_tick_at,
         fires_at = dogged.looked_after_at(schedule, now_at)
   where s.id = schedule.id;
  perform dogged.record_audit('resume_schedule', null, jsonb_build_object('schedule', name, 'paused_at', schedule.paused_at, 'from_now', from_now));
  return true;
end $$;

COMMENT ON FUNCTION dogged.resume_schedule(name text, from_now boolean) IS 'Ends the pause of a schedule: the schedule fires at its next time. from_now: the schedule starts at now, also if the server''s clock was ahead and the next time lies too far in the future (dogged.passed_over_tick). A tick that has fired does not fire again. Returns false if the schedule was not paused, unless from_now is given and the schedule passes over a time.';

CREATE FUNCTION dogged.revoke_rights(prefix text) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
  namespace constant oid := to_regnamespace(rtrim('dogged.', '.'));
  role_name text;
  object text;
begin
  foreach role_name in array dogged.role_names(revoke_rights.prefix) loop
    continue when to_regrole(role_name) is null;
    execute format('revoke all on schema %I from %I', rtrim('dogged.', '.'), role_name);
    -- REVOKE on a table also revokes the rights on its columns.
    for object in
      select case c.relkind when 'S' then 'sequence ' else 'table ' end || c.oid::regclass
        from pg_class c
       where c.relnamespace = namespace
         and exists (select from pg_shdepend d
                      where d.dbid = (select oid from pg_database where datname = current_database())
                        and d.classid = 'pg_class'::regclass and d.objid = c.oid
                        and d.refclassid = 'pg_authid'::regclass and d.refobjid = to_regrole(role_name) and d.deptype = 'a')
      union all
      select 'function ' || p.oid::regprocedure
        from pg_proc p
       where p.pronamespace = namespace
         and exists (select from aclexplode(p.proacl) a where a.grantee = to_regrole(role_name))
    loop
      execute format('revoke all on %s from %I', object, role_name);
    end loop;
  end loop;
end $$;

COMMENT ON FUNCTION dogged.revoke_rights(prefix text) IS 'Takes every right in this schema from the roles that make_roles(prefix) made.';

CREATE FUNCTION dogged.role_names(prefix text) RETURNS text[]
    LANGUAGE sql IMMUTABLE
    RETURN ARRAY[(prefix || '_producer'::text), (prefix || '_worker'::text), (prefix || '_viewer'::text), (prefix || '_operator'::text)];

COMMENT ON FUNCTION dogged.role_names(prefix text) IS 'The roles that dogged.make_roles(prefix) makes.';

CREATE FUNCTION dogged.run_schedule(name text) RETURNS bigint
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
  schedule constant dogged.schedules := dogged.lock_schedule(run_schedule.name);
  task_id constant bigint := dogged.enqueue(schedule.task, schedule.args, schedule.queue, priority => schedule.priority,
                                            tags => array['schedule:' || schedule.name], args_version => schedule.args_version);
begin
  perform dogged.note_tick(schedule, clock_timestamp(), 'fired', null, 'hand', task_id);
  update dogged.schedules s set live_tasks = dogged.alive_of(s.live_tasks) || task_id where s.id = schedule.id;
  perform dogged.record_audit('run_schedule', task_id, jsonb_build_object('schedule', name));
  return task_id;
end $$;

COMMENT ON FUNCTION dogged.run_schedule(name text) IS 'Enqueues the task of a schedule now, whatever its overlap says, also while it is paused. Later ticks find the task alive as that of an earlier tick. Returns the task''s id.';

CREATE FUNCTION dogged.schedule(name text, task text, spec text, time_zone text DEFAULT 'UTC'::text, args jsonb DEFAULT '{}'::jsonb, queue text DEFAULT NULL::text, priority integer DEFAULT 0, jitter interval DEFAULT '00:00:00'::interval, overlap text DEFAULT 'skip'::text, catch_up interval DEFAULT '01:00:00'::interval, catch_up_limit integer DEFAULT 1, allow_frequent boolean DEFAULT false, args_version integer DEFAULT 1) RETURNS text
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
  settings constant jsonb := jsonb_build_object(
    'task', task, 'spec', spec, 'time_zone', time_zone, 'args', args, 'queue', queue, 'priority', coalesce(priority, 0),
    'jitter_ms', round(extract(epoch from coalesce(jitter, '0')) * 1000), 'overlap', overlap,
    'catch_up_ms', round(extract(epoch from catch_up) * 1000), 'catch_up_limit', catch_up_limit,
    'allow_frequent', coalesce(allow_frequent, false), 'args_version', coalesce(args_version, 1));
  outcome text;
begin
  perform dogged.require_schedule_name(name);
  outcome := dogged.put_schedule(name, settings);
  if outcome <> 'unchanged' then
    perform dogged.record_audit('schedule', null, jsonb_build_object('schedule', name, 'outcome', outcome, 'settings', settings));
    if not exists (select from dogged.task_definitions d where d.name = schedule.task) then
      raise notice 'no worker has declared the task "%": the tasks of the schedule "%" wait for a worker that does', task, name;
    end if;
  end if;
  return outcome;
end $$;

COMMENT ON FUNCTION dogged.schedule(name text, task text, spec text, time_zone text, args jsonb, queue text, priority integer, jitter interval, overlap text, catch_up interval, catch_up_limit integer, allow_frequent boolean, args_version integer) IS 'Creates a schedule, or gives one of this name all these settings. Returns created, changed or unchanged. spec: 0 3 * * *, @daily, every 90s. jitter: each tick is put off by up to this long. overlap: what becomes of a tick while the task of an earlier one has not ended: skip, buffer_one, buffer_all, cancel_other, allow_all. catch_up, catch_up_limit: ticks that nobody could fire in time are made up for while they are no older, the latest ones, no more than this many; null: all.';

CREATE FUNCTION dogged.schedule_to_rename(name text, formerly text) RETURNS bigint
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
  if exists (select from dogged.schedules s where s.name = schedule_to_rename.name) then return null; end if;
  return coalesce((select s.id from dogged.schedules s
                    where s.name = schedule_to_rename.formerly
                      and not dogged.is_declared(s.name, schedule_to_rename.name)),
                  (select s.id from dogged.schedules s
                    where dogged.renamed_at(schedule_to_rename.name, s.name) is not null and not dogged.is_declared(s.name)
                    order by s.declared_at desc limit 1));
end $$;

COMMENT ON FUNCTION dogged.schedule_to_rename(name text, formerly text) IS 'Internal: the schedule that gets a name which a program declares; null: the name exists, or is new.';

CREATE FUNCTION dogged.set_queue(name text, settings jsonb) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
  before dogged.queues := dogged.lock_queue(set_queue.name);
  after_it dogged.queues;
begin
  perform dogged.require_queue_settings(before.name, set_queue.settings);
  after_it := before;
  if settings ? 'concurrency' then after_it.concurrency := (settings -> 'concurrency' #>> '{}')::numeric; end if;
  if settings ? 'max_depth' then after_it.max_depth := (settings -> 'max_depth' #>> '{}')::numeric; end if;
  if settings ? 'retry_budget' then after_it.retry_budget := (settings -> 'retry_budget' #>> '{}')::numeric; end if;
  if settings ? 'min_retries_per_second' then
    after_it.min_retries_per_second := coalesce((settings -> 'min_retries_per_second' #>> '{}')::numeric, 10);
  end if;
  if settings ? 'keep_done_days' then after_it.keep_done_days := (settings -> 'keep_done_days' #>> '{}')::numeric; end if;
  if settings ? 'keep_failed_days' then after_it.keep_failed_days := (settings -> 'keep_failed_days' #>> '{}')::numeric; end if;
  if after_it is not distinct from before then return false; end if;
  if after_it.keep_done_days is distinct from before.keep_done_days then
    perform dogged.require_longer_than_all(before.name, 'keep_done_days', after_it.keep_done_days, s.keep_done_days) from dogged.settings s;
  end if;
  if after_it.keep_failed_days is distinct from before.keep_failed_days then
    perform dogged.require_longer_than_all(before.name, 'keep_failed_days', after_it.keep_failed_days, s.keep_failed_days) from dogged.settings s;
  end if;
  update dogged.queues q
     set concurrency = after_it.concurrency, max_depth = after_it.max_depth, retry_budget = after_it.retry_budget,
         min_retries_per_second = after_it.min_retries_per_second,
         keep_done_days = after_it.keep_done_days, keep_failed_days = after_it.keep_failed_days
   where q.name = before.name;
  perform dogged.record_audit(
    'set_queue', null,
    jsonb_build_object('queue', before.name, 'settings', settings,
                       'before', (select jsonb_object_agg(was.key, was.value)
                                    from jsonb_each(to_jsonb(before)) was where settings ? was.key)));
  return true;
end $$;

COMMENT ON FUNCTION dogged.set_queue(name text, settings jsonb) IS 'Changes settings of a queue, which workers follow at once: {"concurrency": 5, "max_depth": 1000, "retry_budget": 0.2, "min_retries_per_second": 10, "keep_done_days": 30, "keep_failed_days": 365}. Settings that are not named stay; null takes a setting back. Returns false if nothing changed.';

CREATE FUNCTION dogged.set_schedule(name text, settings jsonb) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
  before constant dogged.schedules := dogged.lock_schedule(set_schedule.name);
begin
  if dogged.put_schedule(name, settings) = 'unchanged' then return false; end if;
  perform dogged.record_audit(
    'set_schedule', null,
    jsonb_build_object('schedule', name, 'settings', settings,
                       'before', (select jsonb_object_agg(was.key, was.value)
                                    from jsonb_each(to_jsonb(before)) was where settings ? was.key)));
  return true;
end $$;

COMMENT ON FUNCTION dogged.set_schedule(name text, settings jsonb) IS 'Changes settings of a schedule: {"spec": "0 4 * * *", "time_zone": "Europe/Berlin", "task": "report", "args": {}, "args_version": 1, "queue": null, "priority": 0, "jitter_ms": 60000, "overlap": "skip", "catch_up_ms": 3600000, "catch_up_limit": 1, "allow_frequent": false}. Settings that are not named stay. Returns false if nothing changed.';

CREATE FUNCTION dogged.settle_times_before_change(schedule dogged.schedules, now_at timestamp with time zone) RETURNS dogged.schedules
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
  settled dogged.schedules;
begin
  if (schedule.next_at <= now_at) is not true then return schedule; end if;
  if schedule.fires_at <= now_at then perform dogged.fire_or_put_off(schedule, now_at); end if;
  select s.* into settled from dogged.schedules s where s.id = schedule.id;
  if settled.next_at <= now_at then
    perform dogged.skip_until(settled, now_at + interval '1 microsecond', case when settled.paused_at is null then 'missed' else 'paused' end);
    settled.last_tick_at := greatest(settled.last_tick_at, now_at);
  end if;
  return settled;
end $$;

COMMENT ON FUNCTION dogged.settle_times_before_change(schedule dogged.schedules, now_at timestamp with time zone) IS 'Internal: fires the due ticks of a locked schedule before its spec or time zone changes, or its pause ends. Notes ticks as missed that jitter, or the limit of a call, has put off, and those of a pause as paused. Returns the changed row.';

CREATE FUNCTION dogged.shortest_gap(compiled dogged.compiled_spec) RETURNS bigint
    LANGUAGE plpgsql IMMUTABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
  return coalesce(compiled.every_seconds,
                  (select min(case when following is null then 60 + first - second else following - second end)
                     from (select s.second, lead(s.second) over (order by s.second) as following, min(s.second) over () as first
                             from generate_series(0, 59) as s (second) where (compiled.seconds >> s.second) & 1 = 1) seconds));
end $$;

COMMENT ON FUNCTION dogged.shortest_gap(compiled dogged.compiled_spec) IS 'Internal: the fewest seconds between two times of a spec.';

CREATE FUNCTION dogged.skip_until(schedule dogged.schedules, until_time timestamp with time zone, reason text) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
  tick timestamptz := schedule.next_at;
begin
  -- A backfill may have taken the first of them.
  while exists (select from dogged.schedule_ticks t
                 where t.schedule_id = schedule.id and t.scheduled_at = tick and t.outcome <> 'skipped') loop
    tick := dogged.next_tick(schedule.compiled, schedule.time_zone, tick);
  end loop;
  if tick < until_time then
    perform dogged.note_tick(schedule, tick, 'skipped', reason, 'clock', skipped_until => until_time);
  end if;
end $$;

COMMENT ON FUNCTION dogged.skip_until(schedule dogged.schedules, until_time timestamp with time zone, reason text) IS 'Internal: writes one row for the ticks of a schedule from its next one until before until_time, which do not fire for this reason.';

CREATE FUNCTION dogged.skip_waiting(schedule dogged.schedules, reason text) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
  update dogged.schedule_ticks t set outcome = 'skipped', reason = skip_waiting.reason, decided_at = clock_timestamp()
   where t.schedule_id = schedule.id and t.outcome = 'waiting';
end $$;

COMMENT ON FUNCTION dogged.skip_waiting(schedule dogged.schedules, reason text) IS 'Internal: skips the ticks of a schedule that wait, for this reason.';

CREATE FUNCTION dogged.start_tick(schedule dogged.schedules, tick timestamp with time zone, origin text) RETURNS bigint
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
  task_id bigint;
begin
  task_id := dogged.enqueue(schedule.task, schedule.args, schedule.queue, priority => schedule.priority,
                            tags => array['schedule:' || schedule.name], args_version => schedule.args_version);
  perform dogged.note_tick(schedule, tick, 'fired', null, origin, task_id);
  return task_id;
exception when invalid_parameter_value or sqlstate '22Q01' or sqlstate '53Q01' then
  perform dogged.note_tick(schedule, tick, 'skipped', sqlerrm, origin);
  return null;
end $$;

COMMENT ON FUNCTION dogged.start_tick(schedule dogged.schedules, tick timestamp with time zone, origin text) IS 'Internal: enqueues the task of a tick that has not fired, and returns its id; null if enqueue refuses the task.';

CREATE FUNCTION dogged.start_waiting_tick(schedule dogged.schedules) RETURNS bigint[]
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
  first record;
begin
  select t.scheduled_at, t.origin into first
    from dogged.schedule_ticks t
   where t.schedule_id = schedule.id and t.outcome = 'waiting'
   order by t.scheduled_at limit 1;
  return case when found then array_remove(array[dogged.start_tick(schedule, first.scheduled_at, first.origin)], null) else '{}' end;
end $$;

COMMENT ON FUNCTION dogged.start_waiting_tick(schedule dogged.schedules) IS 'Internal: starts the first of the ticks that wait; returns its task, or nothing.';

CREATE FUNCTION dogged.step_in(task_id bigint, attempt integer, worker_id bigint, name text, result jsonb, began_us_ago bigint) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
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

COMMENT ON FUNCTION dogged.step_in(task_id bigint, attempt integer, worker_id bigint, name text, result jsonb, began_us_ago bigint) IS 'Internal: records a step in the caller''s transaction, for Context::step_in. Raises LE001 if the worker does not hold the attempt any more, and ST001 if the attempt has recorded the step already.';

CREATE FUNCTION dogged.steps_since(task_id bigint, enqueued_at timestamp with time zone) RETURNS integer
    LANGUAGE sql STABLE
    BEGIN ATOMIC
 SELECT COALESCE(max(r.attempt), 0) AS "coalesce"
    FROM dogged.task_steps r
   WHERE ((r.task_id = steps_since.task_id) AND (r.name IS NULL) AND (r.finished_at >= steps_since.enqueued_at));
END;

COMMENT ON FUNCTION dogged.steps_since(task_id bigint, enqueued_at timestamp with time zone) IS 'Internal: steps of attempts up to this one do not count, because the task was replayed to run them again; 0: all count. enqueued_at: when the task was enqueued, so that only the days since then are read.';

CREATE FUNCTION dogged.store_schedule(schedule dogged.schedules) RETURNS text
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
  if exists (select from dogged.schedules s where s.id = schedule.id) then
    update dogged.schedules s
       set (task, spec, time_zone, compiled, args, args_version, queue, priority, jitter_ms, overlap, catch_up_ms, catch_up_limit, next_at,
            fires_at, last_tick_at, changed_at)
         = (select schedule.task, schedule.spec, schedule.time_zone, schedule.compiled, schedule.args, schedule.args_version, schedule.queue,
                   schedule.priority, schedule.jitter_ms, schedule.overlap, schedule.catch_up_ms, schedule.catch_up_limit, schedule.next_at,
                   schedule.fires_at, schedule.last_tick_at, schedule.changed_at)
     where s.id = schedule.id;
    return 'changed';
  end if;
  insert into dogged.schedules overriding system value select (schedule).* on conflict do nothing;
  if not found then
    raise exception 'the schedule "%" was created at the same time', schedule.name
      using errcode = 'serialization_failure', hint = 'Nothing was changed: do it again.';
  end if;
  return 'created';
end $$;

COMMENT ON FUNCTION dogged.store_schedule(schedule dogged.schedules) IS 'Internal: writes the row of a schedule.';

CREATE FUNCTION dogged.suspend(task dogged.tasks_live, wait dogged.task_waits, ran_us bigint, own_trace text) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
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

COMMENT ON FUNCTION dogged.suspend(task dogged.tasks_live, wait dogged.task_waits, ran_us bigint, own_trace text) IS 'Internal: ends a running attempt as snoozed until its wait is over. ran_us: how long the handler has run; own_trace: as of complete_in.';

CREATE FUNCTION dogged.tags_of_letter(letter jsonb) RETURNS text[]
    LANGUAGE sql IMMUTABLE
    RETURN CASE WHEN (jsonb_typeof((letter -> 'tags'::text)) = 'array'::text) THEN NULLIF(ARRAY(SELECT jsonb_array_elements_text((letter -> 'tags'::text)) AS jsonb_array_elements_text), '{}'::text[]) ELSE NULL::text[] END;

COMMENT ON FUNCTION dogged.tags_of_letter(letter jsonb) IS 'Internal: the tags of a dead letter that is to be imported; null: none.';

CREATE FUNCTION dogged.take_key(name text, unique_key text, new_id bigint, unique_while dogged.unique_while, on_conflict dogged.unique_conflict, unique_period interval, latest interval, args jsonb, run_at timestamp with time zone, expires_at timestamp with time zone, args_version integer, number integer DEFAULT NULL::integer, OUT holder bigint, OUT outcome text) RETURNS record
    LANGUAGE plpgsql
    AS $$
#variable_conflict use_column
declare
  held pg_catalog.record;
begin
  loop
    select k.task_id, k.taken_at into held from dogged.unique_keys k
     where k.name operator(pg_catalog.=) take_key.name collate pg_catalog."C"
       and k.unique_key operator(pg_catalog.=) take_key.unique_key collate pg_catalog."C";
    if found then
      outcome := dogged.meet_holder(held.task_id, held.taken_at, take_key.unique_while, take_key.on_conflict, take_key.unique_period,
                                    take_key.name, take_key.unique_key, take_key.args, take_key.latest, take_key.run_at,
                                    take_key.expires_at, take_key.args_version, number);
      holder := held.task_id;
      exit when outcome is not null or new_id is null;
      update dogged.unique_keys k
         set task_id = take_key.new_id, taken_at = pg_catalog.now(), held_while = take_key.unique_while,
             held_until = pg_catalog.now() operator(pg_catalog.+) take_key.unique_period
       where k.name operator(pg_catalog.=) take_key.name collate pg_catalog."C"
         and k.unique_key operator(pg_catalog.=) take_key.unique_key collate pg_catalog."C"
         -- A replay meanwhile lets the same task take its key again, as in forget_keys.
         and k.task_id operator(pg_catalog.=) held.task_id and k.taken_at operator(pg_catalog.=) held.taken_at;
    elsif new_id is null then
      exit;
    else
      insert into dogged.unique_keys (name, unique_key, task_id, held_while, held_until)
      values (take_key.name, take_key.unique_key, take_key.new_id, take_key.unique_while,
              pg_catalog.now() operator(pg_catalog.+) take_key.unique_period)
          on conflict do nothing;
    end if;
    if found then
      holder := new_id;
      outcome := 'enqueued';
      exit;
    end if;
  end loop;
end $$;

COMMENT ON FUNCTION dogged.take_key(name text, unique_key text, new_id bigint, unique_while dogged.unique_while, on_conflict dogged.unique_conflict, unique_period interval, latest interval, args jsonb, run_at timestamp with time zone, expires_at timestamp with time zone, args_version integer, number integer, OUT holder bigint, OUT outcome text) IS 'Internal: takes a unique key for the task new_id (outcome enqueued), or meets the task that holds the key (existed, updated). new_id null: only meets the holder; outcome null: nobody holds the key. number: of the task in its call, for errors.';

CREATE FUNCTION dogged.task_in_call(name text, number integer) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN (format('task "%s"'::text, "left"(name, 128)) || CASE WHEN (number IS NOT NULL) THEN format(', number %s of the call'::text, number) ELSE ''::text END);

COMMENT ON FUNCTION dogged.task_in_call(name text, number integer) IS 'Internal: how an error names a task that an enqueue refuses. number: its place in a call of many; null: a call of one.';

CREATE FUNCTION dogged.tell_of_queues() RETURNS trigger
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
  perform pg_notify('dogged.queues', '');
  return null;
end $$;

COMMENT ON FUNCTION dogged.tell_of_queues() IS 'Notifies workers of each change of a queue''s settings, also by a plain UPDATE.';

CREATE FUNCTION dogged.tell_of_schedules() RETURNS trigger
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
  perform pg_notify('dogged.schedules', '');
  return null;
end $$;

COMMENT ON FUNCTION dogged.tell_of_schedules() IS 'Notifies workers of a schedule that is new, or whose settings were changed.';

CREATE FUNCTION dogged.thin_kept_day(parent text, day date, OUT partition text, OUT outcome text, OUT rows_kept bigint) RETURNS record
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET lock_timeout TO '200ms'
    AS $$
begin
  perform dogged.require_read_committed();
  perform from dogged.locks l where l.name = 'partitions' for update skip locked;
  if not found then
    outcome := 'busy';
    return;
  end if;
  select p.partition into partition
    from dogged.partitions p where p.parent = thin_kept_day.parent and p.is_kept and p.day = thin_kept_day.day;
  if not found then
    outcome := 'nothing';
    return;
  end if;
  begin
    rows_kept := dogged.keep_rows_of_day(parent, partition, day);
    outcome := 'thinned';
  exception when lock_not_available then
    rows_kept := null;
    outcome := 'postponed';
  end;
end $$;

COMMENT ON FUNCTION dogged.thin_kept_day(parent text, day date, OUT partition text, OUT outcome text, OUT rows_kept bigint) IS 'Removes from a kept day the rows that need not be kept any longer, and drops the partition if no rows are left. outcome: thinned, nothing, postponed or busy, as of dogged.drop_oldest_day.';

CREATE FUNCTION dogged.those(list anyarray, positions integer[]) RETURNS anyarray
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS $$
  select case when cardinality(list) > 1 and cardinality(positions) < cardinality(list)
              then array(select list[p.position] from unnest(positions) with ordinality as p (position, place) order by p.place)
              else list end
$$;

COMMENT ON FUNCTION dogged.those(list anyarray, positions integer[]) IS 'Internal: the elements at these positions; the array itself if it has one element for all tasks, or none.';

CREATE FUNCTION dogged.ticks_to_backfill(schedule dogged.schedules, from_time timestamp with time zone, until_time timestamp with time zone) RETURNS timestamp with time zone[]
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
  most constant integer := 1000;
  tick timestamptz := from_time - interval '1 microsecond';
  found_ticks timestamptz[] := '{}';
begin
  loop
    tick := dogged.next_tick(schedule.compiled, schedule.time_zone, tick);
    exit when tick is null or tick >= until_time;
    if cardinality(found_ticks) = most then
      perform dogged.refuse_schedule(schedule.name, format('it has more than %s times from %s to %s', most, from_time, until_time),
                                     format('Nothing was enqueued. Backfill up to %s first, and then the rest.', tick));
    end if;
    found_ticks := found_ticks || tick;
  end loop;
  return found_ticks;
end $$;

COMMENT ON FUNCTION dogged.ticks_to_backfill(schedule dogged.schedules, from_time timestamp with time zone, until_time timestamp with time zone) IS 'Internal: the times of a schedule in a range. Raises an error for more than 1000.';

CREATE FUNCTION dogged.time_in(at timestamp with time zone, time_zone text) RETURNS timestamp without time zone
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
  return at at time zone time_zone;
exception when invalid_parameter_value then
  return null;
end $$;

COMMENT ON FUNCTION dogged.time_in(at timestamp with time zone, time_zone text) IS 'Internal: a time on the clocks of a time zone; null if the server does not know the zone, which an update of its system can bring.';

CREATE FUNCTION dogged.value_at_each(document jsonb, tokens text[]) RETURNS jsonb
    LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $_$
declare
  token text;
begin
  foreach token in array tokens loop
    if jsonb_typeof(document) = 'array' and token !~ '^(0|[1-9][0-9]*)$' then return null; end if;
    document := document #> array[replace(replace(token, '~1', '/'), '~0', '~')];  -- RFC 6901, in this order
  end loop;
  return document;
end $_$;

COMMENT ON FUNCTION dogged.value_at_each(document jsonb, tokens text[]) IS 'Internal: the value that the tokens of a JSON pointer name, one after the other; null: there is none.';

CREATE FUNCTION dogged.value_at(document jsonb, pointer text) RETURNS jsonb
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN CASE WHEN (pointer = ''::text) THEN document WHEN (pointer = '/'::text) THEN (document -> ''::text) WHEN ("left"(pointer, 1) <> '/'::text) THEN NULL::jsonb WHEN (pointer ~ '~|/(0[0-9]|[-+[:space:]])'::text) THEN dogged.value_at_each(document, string_to_array(substr(pointer, 2), '/'::text)) ELSE (document #> string_to_array(substr(pointer, 2), '/'::text)) END;

COMMENT ON FUNCTION dogged.value_at(document jsonb, pointer text) IS 'Internal: the value that a JSON pointer (RFC 6901) names; null: there is none, or the pointer is not valid.';

CREATE FUNCTION dogged.wait_durably(task_id bigint, attempt integer, worker_id bigint, name text, for_event boolean, wait_ms bigint, ran_us bigint, own_trace text DEFAULT NULL::text, OUT state text, OUT payload jsonb, OUT left_ms bigint) RETURNS record
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
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

COMMENT ON FUNCTION dogged.wait_durably(task_id bigint, attempt integer, worker_id bigint, name text, for_event boolean, wait_ms bigint, ran_us bigint, own_trace text, OUT state text, OUT payload jsonb, OUT left_ms bigint) IS 'Internal: begins or continues a wait of a running attempt. ran_us and own_trace: as of complete_in. state: over, with the payload if an event came; suspended: the attempt has ended as snoozed, left_ms before the time is over; cancelled: the task is to be cancelled; other_kind: the name is on record for a step or the other kind of wait, and payload is that kind; busy: an emit of this event or a change of the task is under way, ask again; at_limit: the task has begun 10,000 attempts, and waits no more; lost: the worker does not hold the attempt any more.';

CREATE FUNCTION dogged.worker_state(lease_until timestamp with time zone, stop_began_at timestamp with time zone, lease_ended_at timestamp with time zone, stopped_at timestamp with time zone) RETURNS text
    LANGUAGE sql STABLE PARALLEL SAFE
    RETURN CASE WHEN (lease_until IS NULL) THEN NULL::text WHEN (stopped_at IS NOT NULL) THEN 'stopped'::text WHEN (lease_ended_at IS NOT NULL) THEN 'lost'::text WHEN (lease_until < now()) THEN 'lapsed'::text WHEN (stop_began_at IS NOT NULL) THEN 'stopping'::text ELSE 'live'::text END;

COMMENT ON FUNCTION dogged.worker_state(lease_until timestamp with time zone, stop_began_at timestamp with time zone, lease_ended_at timestamp with time zone, stopped_at timestamp with time zone) IS 'The state of a worker, by the columns of dogged.workers of these names. live: the worker renews its lease, and claims; stopping: it renews its lease, lets its running tasks finish, and claims nothing more; lapsed: it did not renew its lease in time, and no worker has ended the lease yet; lost: its lease was ended, its reports change nothing, and its tasks are rescued; stopped: it ended in order.';

ALTER TABLE dogged.audit ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME dogged.audit_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE dogged.circuits (
    name text NOT NULL,
    failure_threshold integer DEFAULT 5 NOT NULL,
    recovery_timeout_ms bigint DEFAULT 30000 NOT NULL,
    success_threshold integer DEFAULT 2 NOT NULL,
    state dogged.circuit_state DEFAULT 'closed'::dogged.circuit_state NOT NULL,
    failures integer DEFAULT 0 NOT NULL,
    successes integer DEFAULT 0 NOT NULL,
    probes integer DEFAULT 0 NOT NULL,
    is_forced boolean DEFAULT false NOT NULL,
    since timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    generation bigint DEFAULT 0 NOT NULL,
    changed_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    CONSTRAINT circuits_failure_threshold_check CHECK (((failure_threshold >= 1) AND (failure_threshold <= 1000))),
    CONSTRAINT circuits_name_check CHECK (((octet_length(name) <= 128) AND (name ~ '^[A-Za-z0-9][A-Za-z0-9._:/-]*$'::text))),
    CONSTRAINT circuits_recovery_timeout_ms_check CHECK (((recovery_timeout_ms >= 1) AND (recovery_timeout_ms <= 86400000))),
    CONSTRAINT circuits_success_threshold_check CHECK (((success_threshold >= 1) AND (success_threshold <= 1000)))
)
WITH (fillfactor='50');

COMMENT ON TABLE dogged.circuits IS 'Circuit breakers (.circuit of a task). While a circuit is open, its tasks are deferred and spend no attempt. `dogged circuits` opens and closes a circuit by hand. The settings are those of the worker that started last.';

COMMENT ON COLUMN dogged.circuits.name IS 'The circuit''s name, as in .circuit of its tasks.';

COMMENT ON COLUMN dogged.circuits.failure_threshold IS 'This many attempts in a row that fail with an error code that their task retries open the circuit.';

COMMENT ON COLUMN dogged.circuits.recovery_timeout_ms IS 'How long an open circuit lets no task run. After that the circuit is half-open.';

COMMENT ON COLUMN dogged.circuits.success_threshold IS 'This many successes close a half-open circuit. At most this many probes run at once.';

COMMENT ON COLUMN dogged.circuits.state IS 'Whether tasks of the circuit run: closed, open or half_open.';

COMMENT ON COLUMN dogged.circuits.failures IS 'Failures in a row, while the circuit is closed.';

COMMENT ON COLUMN dogged.circuits.successes IS 'Successes of probes, while the circuit is half-open.';

COMMENT ON COLUMN dogged.circuits.probes IS 'Probes that run now, while the circuit is half-open.';

COMMENT ON COLUMN dogged.circuits.is_forced IS 'Whether the circuit was opened by hand. Such a circuit stays open until it is closed by hand.';

COMMENT ON COLUMN dogged.circuits.since IS 'Open: when the circuit was opened; half-open: when the last probe was let through.';

COMMENT ON COLUMN dogged.circuits.generation IS 'The number of the current state. Reports of attempts from an earlier state do not count.';

COMMENT ON COLUMN dogged.circuits.changed_at IS 'When the state last changed.';

CREATE TABLE dogged.claims (
    worker_id bigint NOT NULL,
    id bigint NOT NULL,
    task_ids bigint[] NOT NULL
)
WITH (toast_tuple_target='8160', autovacuum_vacuum_scale_factor='0', autovacuum_vacuum_threshold='1000', autovacuum_vacuum_cost_delay='0');
ALTER TABLE ONLY dogged.claims ALTER COLUMN task_ids SET STORAGE MAIN;

COMMENT ON TABLE dogged.claims IS 'The claims of workers. Every running task is in an entry of its worker. An entry may also name tasks that the worker does not hold, or no longer holds.';

COMMENT ON COLUMN dogged.claims.worker_id IS 'The lease: workers.id.';

COMMENT ON COLUMN dogged.claims.id IS 'Ascends in the order in which the worker wrote the entries.';

COMMENT ON COLUMN dogged.claims.task_ids IS 'The ids of the claimed tasks.';

ALTER TABLE dogged.claims ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME dogged.claims_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE dogged.task_attempts (
    task_id bigint NOT NULL,
    attempt integer NOT NULL,
    name text NOT NULL,
    queue text NOT NULL,
    outcome dogged.attempt_outcome NOT NULL,
    worker_id bigint NOT NULL,
    claimed_at timestamp with time zone NOT NULL,
    started_at timestamp with time zone NOT NULL,
    finished_at timestamp with time zone NOT NULL,
    error_code text,
    error_message text,
    error_details jsonb,
    will_retry boolean NOT NULL,
    next_retry_at timestamp with time zone,
    policy text,
    backoff_ms bigint,
    delay_ms bigint,
    retry_after_ms bigint,
    trace_context text
)
PARTITION BY RANGE (finished_at);

COMMENT ON TABLE dogged.task_attempts IS 'One row for each attempt that ended: append-only. UPDATE, DELETE and TRUNCATE are refused; retention drops partitions of whole days.';

COMMENT ON COLUMN dogged.task_attempts.task_id IS 'The task: tasks.id.';

COMMENT ON COLUMN dogged.task_attempts.attempt IS '1, 2, 3 … for the whole life of the task, without a gap.';

COMMENT ON COLUMN dogged.task_attempts.name IS 'The task''s name, so that queries on many attempts need no join.';

COMMENT ON COLUMN dogged.task_attempts.queue IS 'The queue that the task was in.';

COMMENT ON COLUMN dogged.task_attempts.outcome IS 'How the attempt ended (docs/lifecycle.md).';

COMMENT ON COLUMN dogged.task_attempts.worker_id IS 'The worker that ran the attempt: workers.id.';

COMMENT ON COLUMN dogged.task_attempts.claimed_at IS 'When the worker claimed the task.';

COMMENT ON COLUMN dogged.task_attempts.started_at IS 'When the handler began; for a lost attempt, when the task was claimed.';

COMMENT ON COLUMN dogged.task_attempts.finished_at IS 'When the handler ended, called complete_in, or was given up; for a lost attempt, when the task was rescued.';

COMMENT ON COLUMN dogged.task_attempts.error_code IS 'Null unless the outcome is failed, timed_out, cancelled or lost.';

COMMENT ON COLUMN dogged.task_attempts.error_message IS 'The error message; an interrupted or snoozed attempt may have one as well.';

COMMENT ON COLUMN dogged.task_attempts.error_details IS 'Details that the handler added to its error (TaskError::details), as JSON.';

COMMENT ON COLUMN dogged.task_attempts.will_retry IS 'Whether another attempt was scheduled when this one ended.';

COMMENT ON COLUMN dogged.task_attempts.next_retry_at IS 'finished_at + delay_ms where will_retry.';

COMMENT ON COLUMN dogged.task_attempts.policy IS 'The applied retry policy, as `dogged policy show` reads it; null where no policy decided on a retry.';

COMMENT ON COLUMN dogged.task_attempts.backoff_ms IS 'The delay by the policy, before jitter.';

COMMENT ON COLUMN dogged.task_attempts.delay_ms IS 'The delay after jitter.';

COMMENT ON COLUMN dogged.task_attempts.retry_after_ms IS 'The delay that the error gave, in place of the policy''s delay.';

COMMENT ON COLUMN dogged.task_attempts.trace_context IS 'The trace of the attempt, if the worker made it the root of one; else the task''s trace context, as the producer gave it.';

CREATE TABLE dogged.tasks_failed (
    id bigint DEFAULT nextval('dogged.tasks_id_seq'::regclass) NOT NULL,
    status dogged.task_status DEFAULT 'pending'::dogged.task_status NOT NULL,
    queue text NOT NULL,
    name text NOT NULL,
    priority smallint DEFAULT 0 NOT NULL,
    args jsonb NOT NULL,
    enqueued_at timestamp with time zone DEFAULT now() NOT NULL,
    run_at timestamp with time zone DEFAULT now() NOT NULL,
    deferred boolean DEFAULT false NOT NULL,
    next_retry_at timestamp with time zone,
    attempt integer DEFAULT 0 NOT NULL,
    retry_count integer DEFAULT 0 NOT NULL,
    losses integer DEFAULT 0 NOT NULL,
    worker_id bigint,
    claimed_at timestamp with time zone,
    finished_at timestamp with time zone,
    result jsonb,
    error_code text,
    error_message text,
    trace_context text,
    ready_position bigint,
    expires_at timestamp with time zone,
    tags text[],
    parent_id bigint,
    args_version smallint,
    snoozes integer,
    unique_key text,
    cancel_requested_at timestamp with time zone,
    CONSTRAINT tasks_expires_at_check CHECK (isfinite(expires_at))
)
PARTITION BY RANGE (finished_at);

COMMENT ON TABLE dogged.tasks_failed IS 'The dead letters, by the day they failed (UTC).';

COMMENT ON COLUMN dogged.tasks_failed.id IS 'The task''s id, given out by enqueue, for the whole life of the task.';

COMMENT ON COLUMN dogged.tasks_failed.status IS 'The task''s status, which decides in which partition the task is stored.';

COMMENT ON COLUMN dogged.tasks_failed.queue IS 'The name of the task''s queue.';

COMMENT ON COLUMN dogged.tasks_failed.name IS 'The task''s name, which workers declare with TASK_REGISTER.';

COMMENT ON COLUMN dogged.tasks_failed.priority IS 'Lower priorities run first. Among equal priorities, the task that became ready first runs first.';

COMMENT ON COLUMN dogged.tasks_failed.args IS 'The handler''s args, as JSON. Show args to people only through dogged.redacted(name, args).';

COMMENT ON COLUMN dogged.tasks_failed.enqueued_at IS 'When the producer''s transaction began.';

COMMENT ON COLUMN dogged.tasks_failed.run_at IS 'The first attempt does not begin before this time.';

COMMENT ON COLUMN dogged.tasks_failed.deferred IS 'True while a pending task waits for run_at or next_retry_at. The task is then in the index of waiting tasks, and not in the index of ready tasks. A worker sets this to false when the task is due.';

COMMENT ON COLUMN dogged.tasks_failed.next_retry_at IS 'The next attempt does not begin before this time. Set for a retry, or for a task that was deferred because its circuit is open or its queue''s retry budget is spent. The value stays while that attempt runs.';

COMMENT ON COLUMN dogged.tasks_failed.attempt IS 'The number of attempts begun. While the task runs, the number of the current attempt.';

COMMENT ON COLUMN dogged.tasks_failed.retry_count IS 'Retries spent; a lost, interrupted or snoozed attempt spends none.';

COMMENT ON COLUMN dogged.tasks_failed.losses IS 'Attempts that ended because their worker died.';

COMMENT ON COLUMN dogged.tasks_failed.worker_id IS 'The worker that holds the running task, or that ran the task last: workers.id.';

COMMENT ON COLUMN dogged.tasks_failed.claimed_at IS 'When a worker last claimed the task.';

COMMENT ON COLUMN dogged.tasks_failed.finished_at IS 'When the task ended; null while the task is pending or running.';

COMMENT ON COLUMN dogged.tasks_failed.result IS 'The handler''s return value, as JSON; null unless the task succeeded.';

COMMENT ON COLUMN dogged.tasks_failed.error_code IS 'The error code of the last failed attempt.';

COMMENT ON COLUMN dogged.tasks_failed.error_message IS 'The error message of the last failed attempt.';

COMMENT ON COLUMN dogged.tasks_failed.trace_context IS 'The trace context, as the producer gave it; copied to attempts that are no root of a trace.';

COMMENT ON COLUMN dogged.tasks_failed.ready_position IS 'The task''s place among the ready tasks of its queue and priority; null: its id is its place. A task that fell due has a number from the sequence of the ids. A task that was released to run again at once has a number before all of those.';

COMMENT ON COLUMN dogged.tasks_failed.expires_at IS 'No attempt begins after this time. A task that is still pending then ends as expired. Null: the task does not expire.';

COMMENT ON COLUMN dogged.tasks_failed.tags IS 'Words that the producer gave the task, for people to find the task by; null: none.';

COMMENT ON COLUMN dogged.tasks_failed.parent_id IS 'The parent: the task of the handler that enqueued this one, or the task that the producer named. Null: none. Retention may have dropped the parent.';

COMMENT ON COLUMN dogged.tasks_failed.args_version IS 'The version of the args, as the producer''s key or call named it; null: 1. Only a worker that knows this version or a later one runs the task.';

COMMENT ON COLUMN dogged.tasks_failed.snoozes IS 'Attempts that ended because the handler snoozed, since the task was enqueued or replayed; null: none.';

COMMENT ON COLUMN dogged.tasks_failed.unique_key IS 'The key of a unique task (dogged.unique_keys), as the producer gave it, or the hash of the args that it covers; null: the task is not unique.';

COMMENT ON COLUMN dogged.tasks_failed.cancel_requested_at IS 'When dogged.cancel was called while an attempt ran. The worker asks the handler to stop. Unless the attempt succeeds all the same, the task ends as cancelled.';

CREATE TABLE dogged.workers (
    id bigint NOT NULL,
    name text NOT NULL,
    host text NOT NULL,
    pid integer NOT NULL,
    version text NOT NULL,
    queues jsonb NOT NULL,
    task_names text[] NOT NULL,
    args_versions jsonb,
    started_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    heartbeat_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    stop_began_at timestamp with time zone,
    stopped_at timestamp with time zone,
    asleep boolean DEFAULT false NOT NULL,
    lease_ms bigint DEFAULT 30000 NOT NULL,
    lease_until timestamp with time zone NOT NULL,
    lease_ended_at timestamp with time zone,
    rescued_at timestamp with time zone,
    claim_session bigint DEFAULT 0 NOT NULL,
    fenced bigint DEFAULT 0 NOT NULL,
    abandoned_threads integer DEFAULT 0 NOT NULL,
    clock_ahead_ms bigint,
    clock_uncertainty_ms bigint,
    schedules jsonb,
    CONSTRAINT workers_host_check CHECK (((octet_length(host) <= 255) AND dogged.is_one_line(host))),
    CONSTRAINT workers_lease_ms_check CHECK ((lease_ms > 0)),
    CONSTRAINT workers_name_check CHECK ((((octet_length(name) >= 1) AND (octet_length(name) <= 128)) AND dogged.is_one_line(name))),
    CONSTRAINT workers_version_check CHECK (((octet_length(version) <= 128) AND dogged.is_one_line(version)))
)
WITH (fillfactor='50');

COMMENT ON TABLE dogged.workers IS 'One row for each run of a worker process. The row''s id is the lease under which the worker holds tasks. A worker''s report counts only if the task still names that id.';

COMMENT ON COLUMN dogged.workers.id IS 'The lease.';

COMMENT ON COLUMN dogged.workers.name IS 'The worker''s --name, else its host and process. No two workers have the same name at the same time.';

COMMENT ON COLUMN dogged.workers.host IS 'The host on which the worker runs.';

COMMENT ON COLUMN dogged.workers.pid IS 'The worker''s process id on that host.';

COMMENT ON COLUMN dogged.workers.version IS 'The version of dogged that the worker was built with.';

COMMENT ON COLUMN dogged.workers.queues IS 'Concurrency by queue name.';

COMMENT ON COLUMN dogged.workers.task_names IS 'The names of the tasks that the worker knows. The worker never claims other tasks.';

COMMENT ON COLUMN dogged.workers.args_versions IS 'The args version that the worker knows, by task name, where that version is not 1; null: none. The worker claims no task of a later version.';

COMMENT ON COLUMN dogged.workers.started_at IS 'When this run began.';

COMMENT ON COLUMN dogged.workers.heartbeat_at IS 'When the worker last renewed its lease.';

COMMENT ON COLUMN dogged.workers.stop_began_at IS 'Since when the worker claims nothing more, because it stops: its running tasks may finish. Null until then, or if it died.';

COMMENT ON COLUMN dogged.workers.stopped_at IS 'When the worker stopped in order; null while the worker runs, or if it died.';

COMMENT ON COLUMN dogged.workers.asleep IS 'Whether the worker waits for a notification. Enqueue sends one only where this is true.';

COMMENT ON COLUMN dogged.workers.lease_ms IS 'How long a renewal lasts: the worker''s setting --lease.';

COMMENT ON COLUMN dogged.workers.lease_until IS 'No other worker may end the lease before this time; each heartbeat moves this time on.';

COMMENT ON COLUMN dogged.workers.lease_ended_at IS 'When the lease was ended. Another worker ends a lapsed lease, also the lease of a stopped worker. A worker ends its own lease when it goes on as a new run. An ended lease can neither be renewed nor claimed under, and the tasks held under it are rescued.';

COMMENT ON COLUMN dogged.workers.rescued_at IS 'When no task was held under the ended lease any more.';

COMMENT ON COLUMN dogged.workers.claim_session IS 'The worker raises this number when the answer to a claim or a release was lost. A late statement of an earlier session then changes nothing.';

COMMENT ON COLUMN dogged.workers.fenced IS 'Reports and releases that changed nothing because the worker no longer held the task. The number is that of the whole process, earlier runs included, as of the last heartbeat. Do not add these numbers up over the runs of a process.';

COMMENT ON COLUMN dogged.workers.abandoned_threads IS 'Threads whose handler did not end after its stop token was set. The worker ended the attempt without the handler.';

COMMENT ON COLUMN dogged.workers.clock_ahead_ms IS 'By how many milliseconds the clock of the worker''s host was ahead of the server''s clock (negative: behind). Measured beside the heartbeat before the last one, or at registration. Only the host''s own logs depend on this clock.';

COMMENT ON COLUMN dogged.workers.clock_uncertainty_ms IS 'By how much clock_ahead_ms may be wrong: half of the time that the answer took.';

COMMENT ON COLUMN dogged.workers.schedules IS 'The schedules that the worker''s program declares, with their settings by name; null: none.';

CREATE VIEW dogged.dead_letters AS
 SELECT f.id,
    f.name,
    f.queue,
    f.error_code,
    f.error_message,
    f.attempt AS attempts,
    f.retry_count,
    f.losses,
    f.enqueued_at,
    f.finished_at AS failed_at,
    dogged.redacted(f.name, f.args) AS args,
    f.trace_context,
    ( SELECT a.error_details
           FROM dogged.task_attempts a
          WHERE ((a.task_id = f.id) AND (a.attempt = f.attempt) AND (a.finished_at = f.finished_at))) AS error_details,
    ( SELECT a.outcome
           FROM dogged.task_attempts a
          WHERE ((a.task_id = f.id) AND (a.attempt = f.attempt) AND (a.finished_at = f.finished_at))) AS outcome,
    ( SELECT w.name
           FROM dogged.workers w
          WHERE (w.id = f.worker_id)) AS worker,
    f.priority,
    f.run_at,
    COALESCE(f.tags, '{}'::text[]) AS tags,
    f.parent_id,
    COALESCE(f.args_version, (1)::smallint) AS args_version
   FROM dogged.tasks_failed f;

COMMENT ON VIEW dogged.dead_letters IS 'Tasks that ended as failed, with their last error. dogged.replay runs a dead letter again. Queries by id and by failed_at answer at once. A count of all dead letters reads all of them.';

COMMENT ON COLUMN dogged.dead_letters.id IS 'The task''s id.';

COMMENT ON COLUMN dogged.dead_letters.name IS 'The task''s name.';

COMMENT ON COLUMN dogged.dead_letters.queue IS 'The task''s queue.';

COMMENT ON COLUMN dogged.dead_letters.error_code IS 'The error code of the last attempt.';

COMMENT ON COLUMN dogged.dead_letters.error_message IS 'The error message of the last attempt.';

COMMENT ON COLUMN dogged.dead_letters.attempts IS 'The number of attempts.';

COMMENT ON COLUMN dogged.dead_letters.retry_count IS 'Retries spent.';

COMMENT ON COLUMN dogged.dead_letters.losses IS 'Attempts that ended because their worker died.';

COMMENT ON COLUMN dogged.dead_letters.enqueued_at IS 'When the task was enqueued.';

COMMENT ON COLUMN dogged.dead_letters.failed_at IS 'When the last attempt ended.';

COMMENT ON COLUMN dogged.dead_letters.args IS 'The enqueued args, without the values that the task''s definition hides (task_definitions.redact).';

COMMENT ON COLUMN dogged.dead_letters.trace_context IS 'The trace context, as the producer gave it.';

COMMENT ON COLUMN dogged.dead_letters.error_details IS 'Details that the handler added to its last error, as JSON; null if there were none, or if retention has dropped the attempt.';

COMMENT ON COLUMN dogged.dead_letters.outcome IS 'The outcome of the last attempt: failed, timed_out or lost.';

COMMENT ON COLUMN dogged.dead_letters.worker IS 'The name of the worker that ran the task last.';

COMMENT ON COLUMN dogged.dead_letters.priority IS 'Lower priorities run first.';

COMMENT ON COLUMN dogged.dead_letters.run_at IS 'The first attempt does not begin before this time.';

COMMENT ON COLUMN dogged.dead_letters.tags IS 'Words that the producer gave the task.';

COMMENT ON COLUMN dogged.dead_letters.parent_id IS 'The parent: the task of the handler that enqueued this one, or the task that the producer named. Null: none.';

COMMENT ON COLUMN dogged.dead_letters.args_version IS 'The version of the args.';

CREATE VIEW dogged.error_stats AS
 SELECT date_trunc('hour'::text, a.finished_at) AS hour,
    a.name,
    a.error_code,
    count(*) AS attempts,
    count(*) FILTER (WHERE a.will_retry) AS retried,
    count(*) FILTER (WHERE (NOT a.will_retry)) AS ended,
    min(a.finished_at) AS first_at,
    max(a.finished_at) AS last_at,
    max(a.task_id) AS example_task_id,
    min("left"(a.error_message, 200)) AS example_message
   FROM dogged.task_attempts a
  WHERE ((a.error_code IS NOT NULL) AND (a.finished_at >= (now() - '3 days'::interval)))
  GROUP BY (date_trunc('hour'::text, a.finished_at)), a.name, a.error_code;

COMMENT ON VIEW dogged.error_stats IS 'Errors of the last three days by hour, task name and code: attempts that failed, timed out, were cancelled or lost. Reads the attempts of these days. For a shorter time, query task_attempts with finished_at >= … (docs/cookbook.md).';

COMMENT ON COLUMN dogged.error_stats.hour IS 'When the hour begins, in the session''s time zone.';

COMMENT ON COLUMN dogged.error_stats.name IS 'The name of the tasks.';

COMMENT ON COLUMN dogged.error_stats.error_code IS 'The error code of the attempts.';

COMMENT ON COLUMN dogged.error_stats.attempts IS 'The number of attempts that ended with this error.';

COMMENT ON COLUMN dogged.error_stats.retried IS 'Attempts after which the task is retried.';

COMMENT ON COLUMN dogged.error_stats.ended IS 'Attempts that were the last of their task.';

COMMENT ON COLUMN dogged.error_stats.first_at IS 'When the first of these attempts ended.';

COMMENT ON COLUMN dogged.error_stats.last_at IS 'When the last of these attempts ended.';

COMMENT ON COLUMN dogged.error_stats.example_task_id IS 'The task among these that was enqueued last.';

COMMENT ON COLUMN dogged.error_stats.example_message IS 'The first 200 characters of one of the messages.';

CREATE TABLE dogged.events_default (
    name text NOT NULL,
    payload jsonb NOT NULL,
    emitted_at timestamp with time zone NOT NULL,
    resumed bigint NOT NULL,
    CONSTRAINT events_name_check CHECK (((octet_length(name) <= 128) AND (name ~ '^[A-Za-z0-9][A-Za-z0-9._:/-]*$'::text)))
);

COMMENT ON TABLE dogged.events_default IS 'For days that have no partition yet; dogged.make_partitions moves its rows.';

COMMENT ON COLUMN dogged.events_default.name IS 'The event''s name.';

COMMENT ON COLUMN dogged.events_default.payload IS 'What the event carries, as JSON.';

COMMENT ON COLUMN dogged.events_default.emitted_at IS 'When it was emitted.';

COMMENT ON COLUMN dogged.events_default.resumed IS 'How many tasks waited for it then.';

CREATE TABLE dogged.locks (
    name text NOT NULL
);

COMMENT ON TABLE dogged.locks IS 'One row for each kind of work that only one session may do at a time. A function of dogged locks the row until its transaction ends. `dogged doctor` names the sessions that have held a lock for long.';

COMMENT ON COLUMN dogged.locks.name IS 'partitions: creating and dropping partitions, retention. import: importing dead letters. schedules: declaring schedules.';

CREATE TABLE dogged.settings (
    only_row boolean DEFAULT true NOT NULL,
    max_args_bytes integer DEFAULT 1048576 NOT NULL,
    max_result_bytes integer DEFAULT 1048576 NOT NULL,
    max_error_message_bytes integer DEFAULT 65536 NOT NULL,
    partition_days_ahead integer DEFAULT 7 NOT NULL,
    role_prefix text,
    installation uuid DEFAULT gen_random_uuid() NOT NULL,
    keep_done_days integer DEFAULT 7 NOT NULL,
    keep_failed_days integer DEFAULT 90 NOT NULL,
    keep_attempts_days integer DEFAULT 7 NOT NULL,
    keep_ticks_days integer DEFAULT 30 NOT NULL,
    ticks_since date DEFAULT '-infinity'::date NOT NULL,
    keep_events_days integer DEFAULT 7 NOT NULL,
    CONSTRAINT keep_attempts_days CHECK (((keep_attempts_days >= keep_done_days) AND (keep_attempts_days <= 3650))),
    CONSTRAINT keep_done_days CHECK (((keep_done_days >= 1) AND (keep_done_days <= 3650))),
    CONSTRAINT keep_events_days CHECK (((keep_events_days >= 1) AND (keep_events_days <= 3650))),
    CONSTRAINT keep_failed_days CHECK (((keep_failed_days >= 1) AND (keep_failed_days <= 3650))),
    CONSTRAINT keep_ticks_days CHECK (((keep_ticks_days >= 1) AND (keep_ticks_days <= 3650))),
    CONSTRAINT settings_max_args_bytes_check CHECK (((max_args_bytes >= 1) AND (max_args_bytes <= 104857600))),
    CONSTRAINT settings_max_error_message_bytes_check CHECK (((max_error_message_bytes >= 256) AND (max_error_message_bytes <= 1048576))),
    CONSTRAINT settings_max_result_bytes_check CHECK (((max_result_bytes >= 1) AND (max_result_bytes <= 104857600))),
    CONSTRAINT settings_only_row_check CHECK (only_row),
    CONSTRAINT settings_partition_days_ahead_check CHECK (((partition_days_ahead >= 1) AND (partition_days_ahead <= 60)))
);

COMMENT ON TABLE dogged.settings IS 'The limits of this installation, in one row. Update the row to change a limit. Workers read the row when they start.';

COMMENT ON COLUMN dogged.settings.only_row IS 'Keeps the table to one row.';

COMMENT ON COLUMN dogged.settings.max_args_bytes IS 'Enqueue refuses tasks whose args are longer than this as JSON text.';

COMMENT ON COLUMN dogged.settings.max_result_bytes IS 'A task whose result is longer than this as JSON text ends as failed with INVALID_RESULT.';

COMMENT ON COLUMN dogged.settings.max_error_message_bytes IS 'Longer error messages are cut, and say so.';

COMMENT ON COLUMN dogged.settings.partition_days_ahead IS 'For how many coming days partitions are created in advance.';

COMMENT ON COLUMN dogged.settings.role_prefix IS 'The beginning of the names of the roles that `dogged migrate --roles` made; null: no roles were made.';

COMMENT ON COLUMN dogged.settings.installation IS 'The id of this installation, drawn at random. A handler''s task is the parent of the tasks that the handler enqueues here, but not of tasks that the handler enqueues to another installation.';

COMMENT ON COLUMN dogged.settings.keep_done_days IS 'For how many days succeeded, discarded, cancelled and expired tasks are kept, counted from the end of the day (UTC) on which they ended.';

COMMENT ON COLUMN dogged.settings.keep_failed_days IS 'The same for dead letters. The attempts of a dead letter are kept as long as the dead letter.';

COMMENT ON COLUMN dogged.settings.keep_attempts_days IS 'The same for attempts, counted from their own end. Attempts whose task still exists then are kept as long as the task. Not below keep_done_days.';

COMMENT ON COLUMN dogged.settings.keep_ticks_days IS 'For how many days the ticks of schedules are kept, counted from the end of their day (UTC).';

COMMENT ON COLUMN dogged.settings.ticks_since IS 'No ticks of days (UTC) before this one are on record any more, whatever keep_ticks_days is now. Set by dogged.drop_oldest_day.';

COMMENT ON COLUMN dogged.settings.keep_events_days IS 'For how many days events are kept for tasks that wait for them later, counted from the end of their day (UTC).';

CREATE TABLE dogged.tasks_done (
    id bigint DEFAULT nextval('dogged.tasks_id_seq'::regclass) NOT NULL,
    status dogged.task_status DEFAULT 'pending'::dogged.task_status NOT NULL,
    queue text NOT NULL,
    name text NOT NULL,
    priority smallint DEFAULT 0 NOT NULL,
    args jsonb NOT NULL,
    enqueued_at timestamp with time zone DEFAULT now() NOT NULL,
    run_at timestamp with time zone DEFAULT now() NOT NULL,
    deferred boolean DEFAULT false NOT NULL,
    next_retry_at timestamp with time zone,
    attempt integer DEFAULT 0 NOT NULL,
    retry_count integer DEFAULT 0 NOT NULL,
    losses integer DEFAULT 0 NOT NULL,
    worker_id bigint,
    claimed_at timestamp with time zone,
    finished_at timestamp with time zone,
    result jsonb,
    error_code text,
    error_message text,
    trace_context text,
    ready_position bigint,
    expires_at timestamp with time zone,
    tags text[],
    parent_id bigint,
    args_version smallint,
    snoozes integer,
    unique_key text,
    cancel_requested_at timestamp with time zone,
    CONSTRAINT tasks_expires_at_check CHECK (isfinite(expires_at))
)
PARTITION BY RANGE (finished_at);

COMMENT ON TABLE dogged.tasks_done IS 'The tasks that succeeded, were discarded, cancelled or expired, by the day they ended (UTC).';

COMMENT ON COLUMN dogged.tasks_done.id IS 'The task''s id, given out by enqueue, for the whole life of the task.';

COMMENT ON COLUMN dogged.tasks_done.status IS 'The task''s status, which decides in which partition the task is stored.';

COMMENT ON COLUMN dogged.tasks_done.queue IS 'The name of the task''s queue.';

COMMENT ON COLUMN dogged.tasks_done.name IS 'The task''s name, which workers declare with TASK_REGISTER.';

COMMENT ON COLUMN dogged.tasks_done.priority IS 'Lower priorities run first. Among equal priorities, the task that became ready first runs first.';

COMMENT ON COLUMN dogged.tasks_done.args IS 'The handler''s args, as JSON. Show args to people only through dogged.redacted(name, args).';

COMMENT ON COLUMN dogged.tasks_done.enqueued_at IS 'When the producer''s transaction began.';

COMMENT ON COLUMN dogged.tasks_done.run_at IS 'The first attempt does not begin before this time.';

COMMENT ON COLUMN dogged.tasks_done.deferred IS 'True while a pending task waits for run_at or next_retry_at. The task is then in the index of waiting tasks, and not in the index of ready tasks. A worker sets this to false when the task is due.';

COMMENT ON COLUMN dogged.tasks_done.next_retry_at IS 'The next attempt does not begin before this time. Set for a retry, or for a task that was deferred because its circuit is open or its queue''s retry budget is spent. The value stays while that attempt runs.';

COMMENT ON COLUMN dogged.tasks_done.attempt IS 'The number of attempts begun. While the task runs, the number of the current attempt.';

COMMENT ON COLUMN dogged.tasks_done.retry_count IS 'Retries spent; a lost, interrupted or snoozed attempt spends none.';

COMMENT ON COLUMN dogged.tasks_done.losses IS 'Attempts that ended because their worker died.';

COMMENT ON COLUMN dogged.tasks_done.worker_id IS 'The worker that holds the running task, or that ran the task last: workers.id.';

COMMENT ON COLUMN dogged.tasks_done.claimed_at IS 'When a worker last claimed the task.';

COMMENT ON COLUMN dogged.tasks_done.finished_at IS 'When the task ended; null while the task is pending or running.';

COMMENT ON COLUMN dogged.tasks_done.result IS 'The handler''s return value, as JSON; null unless the task succeeded.';

COMMENT ON COLUMN dogged.tasks_done.error_code IS 'The error code of the last failed attempt.';

COMMENT ON COLUMN dogged.tasks_done.error_message IS 'The error message of the last failed attempt.';

COMMENT ON COLUMN dogged.tasks_done.trace_context IS 'The trace context, as the producer gave it; copied to attempts that are no root of a trace.';

COMMENT ON COLUMN dogged.tasks_done.ready_position IS 'The task''s place among the ready tasks of its queue and priority; null: its id is its place. A task that fell due has a number from the sequence of the ids. A task that was released to run again at once has a number before all of those.';

COMMENT ON COLUMN dogged.tasks_done.expires_at IS 'No attempt begins after this time. A task that is still pending then ends as expired. Null: the task does not expire.';

COMMENT ON COLUMN dogged.tasks_done.tags IS 'Words that the producer gave the task, for people to find the task by; null: none.';

COMMENT ON COLUMN dogged.tasks_done.parent_id IS 'The parent: the task of the handler that enqueued this one, or the task that the producer named. Null: none. Retention may have dropped the parent.';

COMMENT ON COLUMN dogged.tasks_done.args_version IS 'The version of the args, as the producer''s key or call named it; null: 1. Only a worker that knows this version or a later one runs the task.';

COMMENT ON COLUMN dogged.tasks_done.snoozes IS 'Attempts that ended because the handler snoozed, since the task was enqueued or replayed; null: none.';

COMMENT ON COLUMN dogged.tasks_done.unique_key IS 'The key of a unique task (dogged.unique_keys), as the producer gave it, or the hash of the args that it covers; null: the task is not unique.';

COMMENT ON COLUMN dogged.tasks_done.cancel_requested_at IS 'When dogged.cancel was called while an attempt ran. The worker asks the handler to stop. Unless the attempt succeeds all the same, the task ends as cancelled.';

CREATE VIEW dogged.partitions AS
 SELECT (parent.relname)::text AS parent,
    (part.relname)::text AS partition,
    days.day,
    days.is_kept,
    ((((days.day + 1) +
        CASE parent.relname
            WHEN 'tasks_done'::name THEN GREATEST(settings.keep_done_days,
            CASE
                WHEN days.is_kept THEN longest.keep_done_days
                ELSE NULL::integer
            END)
            WHEN 'tasks_failed'::name THEN GREATEST(settings.keep_failed_days,
            CASE
                WHEN days.is_kept THEN longest.keep_failed_days
                ELSE NULL::integer
            END)
            WHEN 'schedule_ticks'::name THEN (settings.keep_ticks_days + dogged.days_of_open_ticks(days.day, settings.keep_ticks_days))
            WHEN 'events'::name THEN settings.keep_events_days
            ELSE settings.keep_attempts_days
        END))::timestamp without time zone AT TIME ZONE 'UTC'::text) AS kept_until,
    (pg_table_size((part.oid)::regclass) + pg_indexes_size((part.oid)::regclass)) AS bytes
   FROM (((((dogged.settings
     CROSS JOIN ( SELECT max(q.keep_done_days) AS keep_done_days,
            max(q.keep_failed_days) AS keep_failed_days
           FROM dogged.queues q) longest)
     JOIN pg_class parent ON ((parent.oid = ANY (ARRAY[('dogged.tasks_done'::regclass)::oid, ('dogged.tasks_failed'::regclass)::oid, ('dogged.task_attempts'::regclass)::oid, ('dogged.task_steps'::regclass)::oid, ('dogged.schedule_ticks'::regclass)::oid, ('dogged.events'::regclass)::oid]))))
     JOIN pg_inherits ON ((pg_inherits.inhparent = parent.oid)))
     JOIN pg_class part ON (((part.oid = pg_inherits.inhrelid) AND (part.relname ~ '_[0-9]{8}$'::text))))
     CROSS JOIN LATERAL ( SELECT to_date("right"((part.relname)::text, 8), 'YYYYMMDD'::text) AS day,
            (part.relname ~ '_kept_'::text) AS is_kept) days);

COMMENT ON VIEW dogged.partitions IS 'One row for each day (UTC) of tasks_done, tasks_failed, task_attempts, task_steps, schedule_ticks and events. Retention drops the day after kept_until. In a smaller partition (is_kept), retention keeps tasks of queues with a longer setting, and attempts and steps whose task still exists.';

COMMENT ON COLUMN dogged.partitions.parent IS 'tasks_done, tasks_failed, task_attempts, task_steps, schedule_ticks or events.';

COMMENT ON COLUMN dogged.partitions.partition IS 'The name of the table that holds the day.';

COMMENT ON COLUMN dogged.partitions.day IS 'The day of finished_at (of a tick: of scheduled_at; of an event: of emitted_at), in UTC.';

COMMENT ON COLUMN dogged.partitions.is_kept IS 'Whether the partition holds only the rows that retention has kept of its day.';

COMMENT ON COLUMN dogged.partitions.kept_until IS 'When the day is old enough to be dropped; for kept tasks, when the last of them are old enough. A day of ticks stays while one of them waits, and as long as the last of the ticks that one of its rows stands for.';

COMMENT ON COLUMN dogged.partitions.bytes IS 'The size of the table and its indexes.';

CREATE TABLE dogged.queue_depths (
    queue text NOT NULL,
    held integer NOT NULL,
    last_id bigint NOT NULL
)
WITH (fillfactor='50');

COMMENT ON TABLE dogged.queue_depths IS 'The depth of each queue with a max_depth when it was last counted. Since then the queue has grown by no more than the number of ids given out, so enqueue seldom counts.';

COMMENT ON COLUMN dogged.queue_depths.queue IS 'The queue''s name.';

COMMENT ON COLUMN dogged.queue_depths.held IS 'Tasks that had not ended at the last count.';

COMMENT ON COLUMN dogged.queue_depths.last_id IS 'The last value of tasks_id_seq at the last count.';

CREATE VIEW dogged.queue_stats AS
 WITH depth AS (
         SELECT t.queue,
            count(*) FILTER (WHERE ((t.status = 'pending'::dogged.task_status) AND (COALESCE(t.next_retry_at, t.run_at) <= now()))) AS ready,
            count(*) FILTER (WHERE ((t.status = 'pending'::dogged.task_status) AND (COALESCE(t.next_retry_at, t.run_at) > now()))) AS waiting,
            count(*) FILTER (WHERE (t.status = 'running'::dogged.task_status)) AS running,
            min(COALESCE(t.next_retry_at, t.run_at)) FILTER (WHERE ((t.status = 'pending'::dogged.task_status) AND (COALESCE(t.next_retry_at, t.run_at) <= now()))) AS oldest_due_at,
            count(t.snoozes) AS snoozed,
            max(t.snoozes) AS most_snoozes
           FROM dogged.tasks_live t
          GROUP BY t.queue
        )
 SELECT q.name AS queue,
    COALESCE(d.ready, (0)::bigint) AS ready,
    COALESCE(d.waiting, (0)::bigint) AS waiting,
    COALESCE(d.running, (0)::bigint) AS running,
    d.oldest_due_at,
    (now() - d.oldest_due_at) AS oldest_due_age,
    COALESCE(r.attempts, (0)::bigint) AS attempts,
    COALESCE(r.ended_per_minute, (0)::numeric) AS ended_per_minute,
    COALESCE(r.failed_per_minute, (0)::numeric) AS failed_per_minute,
    r.retry_share,
    r.wait_p50,
    r.wait_p95,
    r.run_p50,
    r.run_p95,
    COALESCE(d.snoozed, (0)::bigint) AS snoozed,
    COALESCE(d.most_snoozes, 0) AS most_snoozes
   FROM ((dogged.queues q
     LEFT JOIN depth d ON ((d.queue = q.name)))
     LEFT JOIN dogged.recent_figures() r(queue, attempts, ended_per_minute, failed_per_minute, retry_share, wait_p50, wait_p95, run_p50, run_p95) ON ((r.queue = q.name)));

COMMENT ON VIEW dogged.queue_stats IS 'One row for each queue: the tasks in it now, and the work of the last five minutes. Reads all live tasks, and the attempts of the last five minutes.';

COMMENT ON COLUMN dogged.queue_stats.queue IS 'The queue''s name.';

COMMENT ON COLUMN dogged.queue_stats.ready IS 'Pending tasks that are due.';

COMMENT ON COLUMN dogged.queue_stats.waiting IS 'Pending tasks that wait for their time or for a retry.';

COMMENT ON COLUMN dogged.queue_stats.running IS 'Tasks that a worker holds.';

COMMENT ON COLUMN dogged.queue_stats.oldest_due_at IS 'When the ready task that waits longest fell due; null if no task is ready.';

COMMENT ON COLUMN dogged.queue_stats.oldest_due_age IS 'How long ago that was.';

COMMENT ON COLUMN dogged.queue_stats.attempts IS 'Attempts that ended in the last five minutes.';

COMMENT ON COLUMN dogged.queue_stats.ended_per_minute IS 'Tasks that ended in any way, per minute, over the last five minutes. Tasks that were cancelled before they ran are not counted.';

COMMENT ON COLUMN dogged.queue_stats.failed_per_minute IS 'Tasks that ended as failed or discarded, per minute, over the last five minutes.';

COMMENT ON COLUMN dogged.queue_stats.retry_share IS 'The share, from 0 to 1, of the attempts of the last five minutes that failed and are retried; null if there were no attempts.';

COMMENT ON COLUMN dogged.queue_stats.wait_p50 IS 'Half of the attempts began within this time after they were due. This column and the next three use all attempts of the last five minutes, up to 500 of the queue. With more attempts, the figures are estimates from about 500, spread evenly over the five minutes.';

COMMENT ON COLUMN dogged.queue_stats.wait_p95 IS '95 of 100 attempts began within this time after they were due.';

COMMENT ON COLUMN dogged.queue_stats.run_p50 IS 'Half of the attempts took no longer than this. Lost ones do not count: their handlers ended with their worker, some time before the rescue.';

COMMENT ON COLUMN dogged.queue_stats.run_p95 IS '95 of 100 attempts took no longer than this, as for run_p50.';

COMMENT ON COLUMN dogged.queue_stats.snoozed IS 'Pending and running tasks that have snoozed.';

COMMENT ON COLUMN dogged.queue_stats.most_snoozes IS 'How often the task of these has snoozed that did so most often; 0 if there is none. A number that only grows is that of a task that waits in vain.';

CREATE TABLE dogged.task_definitions (
    name text NOT NULL,
    queue text NOT NULL,
    retry_policy jsonb NOT NULL,
    auto_retry_for text[] NOT NULL,
    timeout_ms bigint,
    retry_lost boolean NOT NULL,
    dead_letter boolean NOT NULL,
    max_losses integer NOT NULL,
    version text NOT NULL,
    retry_sources jsonb DEFAULT '{}'::jsonb NOT NULL,
    redact text[] DEFAULT '{}'::text[] NOT NULL,
    updated_at timestamp with time zone DEFAULT now() NOT NULL,
    args_version smallint DEFAULT 1 NOT NULL,
    max_snoozes integer DEFAULT 1000 NOT NULL,
    circuit text,
    CONSTRAINT task_definitions_name_check CHECK (((octet_length(name) <= 128) AND (name ~ '^[A-Za-z0-9][A-Za-z0-9._:/-]*$'::text))),
    CONSTRAINT task_definitions_queue_check CHECK (((octet_length(queue) <= 128) AND (queue ~ '^[A-Za-z0-9][A-Za-z0-9._:/-]*$'::text))),
    CONSTRAINT task_definitions_version_check CHECK (((octet_length(version) <= 128) AND dogged.is_one_line(version)))
);

COMMENT ON TABLE dogged.task_definitions IS 'The declarations that workers made with TASK_REGISTER, as changed by the workers'' configuration. A worker publishes its declarations when it starts; the last one wins.';

COMMENT ON COLUMN dogged.task_definitions.name IS 'The task''s name.';

COMMENT ON COLUMN dogged.task_definitions.queue IS 'The queue of the task if the caller of enqueue names none.';

COMMENT ON COLUMN dogged.task_definitions.retry_policy IS 'The retry policy, as `dogged policy show` and dogged::policy_from_json read it.';

COMMENT ON COLUMN dogged.task_definitions.auto_retry_for IS 'Error codes that are retried; * lists all.';

COMMENT ON COLUMN dogged.task_definitions.timeout_ms IS 'How long an attempt may take; null: no deadline.';

COMMENT ON COLUMN dogged.task_definitions.retry_lost IS 'Whether the task runs again after its worker died.';

COMMENT ON COLUMN dogged.task_definitions.dead_letter IS 'Whether a task that fails for good is kept as a dead letter (failed); else it is discarded.';

COMMENT ON COLUMN dogged.task_definitions.max_losses IS 'The loss with this number ends the task.';

COMMENT ON COLUMN dogged.task_definitions.version IS 'The version of dogged of the worker that published the declaration.';

COMMENT ON COLUMN dogged.task_definitions.retry_sources IS 'The sources of the retry settings, as {"max_attempts": "environment RETRY_MAX_ATTEMPTS", "policy_type": "TASK_REGISTER"}: the program, a preset, the file of --retry-config, or the environment of the worker that published the declaration.';

COMMENT ON COLUMN dogged.task_definitions.redact IS 'JSON pointers (RFC 6901) into args and result. The values that they point to are shown as "[redacted]".';

COMMENT ON COLUMN dogged.task_definitions.updated_at IS 'When a worker last published the declaration.';

COMMENT ON COLUMN dogged.task_definitions.args_version IS 'The version of the args in the task''s key (KeyOptions::version).';

COMMENT ON COLUMN dogged.task_definitions.max_snoozes IS 'How often a task may snooze. A further snooze ends the task with SNOOZED_TOO_OFTEN.';

COMMENT ON COLUMN dogged.task_definitions.circuit IS 'The circuit breaker that the task shares with other tasks (circuits); null: none.';

CREATE VIEW dogged.redacted_tasks AS
 SELECT t.id,
    t.status,
    t.queue,
    t.name,
    t.priority,
        CASE
            WHEN (t.name = ANY (ARRAY( SELECT d.name
               FROM dogged.task_definitions d
              WHERE (d.redact <> '{}'::text[])))) THEN dogged.redacted(t.name, t.args)
            ELSE t.args
        END AS args,
    t.enqueued_at,
    t.run_at,
    t.deferred,
    t.next_retry_at,
    t.attempt,
    t.retry_count,
    t.losses,
    t.worker_id,
    t.claimed_at,
    t.finished_at,
        CASE
            WHEN (t.name = ANY (ARRAY( SELECT d.name
               FROM dogged.task_definitions d
              WHERE (d.redact <> '{}'::text[])))) THEN dogged.redacted(t.name, t.result)
            ELSE t.result
        END AS result,
    t.error_code,
    t.error_message,
    t.trace_context,
    t.ready_position,
    t.cancel_requested_at,
    t.expires_at,
    t.tags,
    t.parent_id,
    t.args_version,
    t.snoozes,
    t.unique_key
   FROM dogged.tasks t;

COMMENT ON VIEW dogged.redacted_tasks IS 'Like tasks, with "[redacted]" in place of the values that workers have declared as .redact.';

COMMENT ON COLUMN dogged.redacted_tasks.id IS 'The task''s id, given out by enqueue, for the whole life of the task.';

COMMENT ON COLUMN dogged.redacted_tasks.status IS 'The task''s status, which decides in which partition the task is stored.';

COMMENT ON COLUMN dogged.redacted_tasks.queue IS 'The name of the task''s queue.';

COMMENT ON COLUMN dogged.redacted_tasks.name IS 'The task''s name, which workers declare with TASK_REGISTER.';

COMMENT ON COLUMN dogged.redacted_tasks.priority IS 'Lower priorities run first. Among equal priorities, the task that became ready first runs first.';

COMMENT ON COLUMN dogged.redacted_tasks.args IS 'The args, without the redacted values.';

COMMENT ON COLUMN dogged.redacted_tasks.enqueued_at IS 'When the producer''s transaction began.';

COMMENT ON COLUMN dogged.redacted_tasks.run_at IS 'The first attempt does not begin before this time.';

COMMENT ON COLUMN dogged.redacted_tasks.deferred IS 'True while a pending task waits for run_at or next_retry_at. The task is then in the index of waiting tasks, and not in the index of ready tasks. A worker sets this to false when the task is due.';

COMMENT ON COLUMN dogged.redacted_tasks.next_retry_at IS 'The next attempt does not begin before this time. Set for a retry, or for a task that was deferred because its circuit is open or its queue''s retry budget is spent. The value stays while that attempt runs.';

COMMENT ON COLUMN dogged.redacted_tasks.attempt IS 'The number of attempts begun. While the task runs, the number of the current attempt.';

COMMENT ON COLUMN dogged.redacted_tasks.retry_count IS 'Retries spent; a lost, interrupted or snoozed attempt spends none.';

COMMENT ON COLUMN dogged.redacted_tasks.losses IS 'Attempts that ended because their worker died.';

COMMENT ON COLUMN dogged.redacted_tasks.worker_id IS 'The worker that holds the running task, or that ran the task last: workers.id.';

COMMENT ON COLUMN dogged.redacted_tasks.claimed_at IS 'When a worker last claimed the task.';

COMMENT ON COLUMN dogged.redacted_tasks.finished_at IS 'When the task ended; null while the task is pending or running.';

COMMENT ON COLUMN dogged.redacted_tasks.result IS 'The result, without the redacted values.';

COMMENT ON COLUMN dogged.redacted_tasks.error_code IS 'The error code of the last failed attempt.';

COMMENT ON COLUMN dogged.redacted_tasks.error_message IS 'The error message of the last failed attempt.';

COMMENT ON COLUMN dogged.redacted_tasks.trace_context IS 'The trace context, as the producer gave it; copied to attempts that are no root of a trace.';

COMMENT ON COLUMN dogged.redacted_tasks.ready_position IS 'The task''s place among the ready tasks of its queue and priority; null: its id is its place. A task that fell due has a number from the sequence of the ids. A task that was released to run again at once has a number before all of those.';

COMMENT ON COLUMN dogged.redacted_tasks.cancel_requested_at IS 'When dogged.cancel was called while an attempt ran. The worker asks the handler to stop. Unless the attempt succeeds all the same, the task ends as cancelled.';

COMMENT ON COLUMN dogged.redacted_tasks.expires_at IS 'No attempt begins after this time. A task that is still pending then ends as expired. Null: the task does not expire.';

COMMENT ON COLUMN dogged.redacted_tasks.tags IS 'Words that the producer gave the task, for people to find the task by; null: none.';

COMMENT ON COLUMN dogged.redacted_tasks.parent_id IS 'The parent: the task of the handler that enqueued this one, or the task that the producer named. Null: none. Retention may have dropped the parent.';

COMMENT ON COLUMN dogged.redacted_tasks.args_version IS 'The version of the args, as the producer''s key or call named it; null: 1. Only a worker that knows this version or a later one runs the task.';

COMMENT ON COLUMN dogged.redacted_tasks.snoozes IS 'Attempts that ended because the handler snoozed, since the task was enqueued or replayed; null: none.';

COMMENT ON COLUMN dogged.redacted_tasks.unique_key IS 'The key of a unique task (dogged.unique_keys), as the producer gave it, or the hash of the args that it covers; null: the task is not unique.';

CREATE VIEW dogged.rights AS
 SELECT r.object,
    r.privileges,
    r.roles,
    r.except_columns
   FROM ( VALUES ('schema_migrations'::text,'select'::text,'{producer,worker,viewer,operator}'::text[],'{}'::text[]), ('schema_files'::text,'select'::text,'{producer,worker,viewer,operator}'::text[],'{}'::text[]), ('rights'::text,'select'::text,'{producer,worker,viewer,operator}'::text[],'{}'::text[]), ('settings'::text,'select'::text,'{producer,worker,viewer,operator}'::text[],'{}'::text[]), ('settings'::text,'update'::text,'{operator}'::text[],'{only_row,role_prefix,installation,ticks_since}'::text[]), ('locks'::text,'select'::text,'{viewer,operator}'::text[],'{}'::text[]), ('queues'::text,'select'::text,'{worker,viewer,operator}'::text[],'{}'::text[]), ('queue_depths'::text,'select'::text,'{viewer,operator}'::text[],'{}'::text[]), ('task_definitions'::text,'select'::text,'{worker,viewer,operator}'::text[],'{}'::text[]), ('task_definitions'::text,'insert, update'::text,'{worker}'::text[],'{}'::text[]), ('workers'::text,'select'::text,'{worker,operator}'::text[],'{}'::text[]), ('workers'::text,'select'::text,'{viewer}'::text[],'{schedules}'::text[]), ('workers'::text,'insert, update'::text,'{worker}'::text[],'{}'::text[]), ('claims'::text,'select'::text,'{worker,viewer,operator}'::text[],'{}'::text[]), ('claims'::text,'insert, delete'::text,'{worker}'::text[],'{}'::text[]), ('circuits'::text,'select'::text,'{worker,viewer,operator}'::text[],'{}'::text[]), ('circuits'::text,'insert'::text,'{worker}'::text[],'{}'::text[]), ('circuits'::text,'update'::text,'{worker,operator}'::text[],'{}'::text[]), ('producer_calls'::text,'select'::text,'{}'::text[],'{}'::text[]), ('unique_keys'::text,'select'::text,'{viewer,operator}'::text[],'{}'::text[]), ('schedules'::text,'select'::text,'{worker,operator}'::text[],'{}'::text[]), ('schedules'::text,'select'::text,'{viewer}'::text[],'{args,declared}'::text[]), ('schedule_ticks'::text,'select'::text,'{worker,viewer,operator}'::text[],'{}'::text[]), ('schedule_ticks_default'::text,'select'::text,'{viewer,operator}'::text[],'{}'::text[]), ('schedule_declarations'::text,'select'::text,'{worker,operator}'::text[],'{}'::text[]), ('schedule_overview'::text,'select'::text,'{viewer,operator}'::text[],'{}'::text[]), ('tasks'::text,'select'::text,'{worker}'::text[],'{}'::text[]), ('tasks'::text,'select'::text,'{operator}'::text[],'{}'::text[]), ('tasks'::text,'select'::text,'{viewer}'::text[],'{args,result}'::text[]), ('tasks_live'::text,'select, delete'::text,'{worker}'::text[],'{}'::text[]), ('tasks_live'::text,'update'::text,'{worker}'::text[],'{id,queue,name,priority,args,enqueued_at,run_at,finished_at,result,trace_context,expires_at,tags,parent_id,args_version,unique_key,cancel_requested_at}'::text[]), ('tasks_failed'::text,'select, insert'::text,'{worker}'::text[],'{}'::text[]), ('tasks_done'::text,'select, insert'::text,'{worker}'::text[],'{}'::text[]), ('tasks_live'::text,'select'::text,'{operator}'::text[],'{}'::text[]), ('tasks_live'::text,'select'::text,'{viewer}'::text[],'{args,result}'::text[]), ('tasks_failed'::text,'select'::text,'{operator}'::text[],'{}'::text[]), ('tasks_failed'::text,'select'::text,'{viewer}'::text[],'{args,result}'::text[]), ('tasks_done'::text,'select'::text,'{operator}'::text[],'{}'::text[]), ('tasks_done'::text,'select'::text,'{viewer}'::text[],'{args,result}'::text[]), ('tasks_failed_default'::text,'select'::text,'{operator}'::text[],'{}'::text[]), ('tasks_failed_default'::text,'select'::text,'{viewer}'::text[],'{args,result}'::text[]), ('tasks_done_default'::text,'select'::text,'{operator}'::text[],'{}'::text[]), ('tasks_done_default'::text,'select'::text,'{viewer}'::text[],'{args,result}'::text[]), ('task_attempts_default'::text,'select'::text,'{viewer,operator}'::text[],'{}'::text[]), ('tasks_id_seq'::text,'select, usage'::text,'{worker}'::text[],'{}'::text[]), ('task_attempts'::text,'select'::text,'{worker,viewer,operator}'::text[],'{}'::text[]), ('task_attempts'::text,'insert'::text,'{worker}'::text[],'{}'::text[]), ('task_steps'::text,'select, insert'::text,'{worker}'::text[],'{}'::text[]), ('task_steps'::text,'select'::text,'{operator}'::text[],'{}'::text[]), ('task_steps'::text,'select'::text,'{viewer}'::text[],'{result}'::text[]), ('task_steps_default'::text,'select'::text,'{operator}'::text[],'{}'::text[]), ('task_steps_default'::text,'select'::text,'{viewer}'::text[],'{result}'::text[]), ('task_checkpoints'::text,'select, insert, update'::text,'{worker}'::text[],'{}'::text[]), ('task_checkpoints'::text,'select'::text,'{operator}'::text[],'{}'::text[]), ('task_checkpoints'::text,'select'::text,'{viewer}'::text[],'{value}'::text[]), ('task_progress'::text,'select, insert, update'::text,'{worker}'::text[],'{}'::text[]), ('task_progress'::text,'select'::text,'{viewer,operator}'::text[],'{}'::text[]), ('task_waits'::text,'select, insert, update, delete'::text,'{worker}'::text[],'{}'::text[]), ('task_waits'::text,'select'::text,'{operator}'::text[],'{}'::text[]), ('task_waits'::text,'select'::text,'{viewer}'::text[],'{payload}'::text[]), ('events'::text,'select'::text,'{worker}'::text[],'{}'::text[]), ('events'::text,'select'::text,'{operator}'::text[],'{}'::text[]), ('events'::text,'select'::text,'{viewer}'::text[],'{payload}'::text[]), ('events_default'::text,'select'::text,'{operator}'::text[],'{}'::text[]), ('events_default'::text,'select'::text,'{viewer}'::text[],'{payload}'::text[]), ('audit'::text,'select'::text,'{operator}'::text[],'{}'::text[]), ('audit'::text,'select'::text,'{viewer}'::text[],'{details}'::text[]), ('redacted_tasks'::text,'select'::text,'{viewer,operator}'::text[],'{}'::text[]), ('task_timeline'::text,'select'::text,'{viewer,operator}'::text[],'{}'::text[]), ('task_overview'::text,'select'::text,'{viewer,operator}'::text[],'{}'::text[]), ('task_steps_overview'::text,'select'::text,'{viewer,operator}'::text[],'{}'::text[]), ('waiting'::text,'select'::text,'{viewer,operator}'::text[],'{}'::text[]), ('dead_letters'::text,'select'::text,'{viewer,operator}'::text[],'{}'::text[]), ('queue_stats'::text,'select'::text,'{viewer,operator}'::text[],'{}'::text[]), ('recent_figures'::text,'execute'::text,'{viewer,operator}'::text[],'{}'::text[]), ('worker_stats'::text,'select'::text,'{viewer,operator}'::text[],'{}'::text[]), ('error_stats'::text,'select'::text,'{viewer,operator}'::text[],'{}'::text[]), ('partitions'::text,'select'::text,'{worker,viewer,operator}'::text[],'{}'::text[]), ('enqueue'::text,'execute as owner'::text,'{producer,worker}'::text[],'{}'::text[]), ('enqueue_many'::text,'execute as owner'::text,'{producer,worker}'::text[],'{}'::text[]), ('enqueue_unique'::text,'execute as owner'::text,'{producer,worker}'::text[],'{}'::text[]), ('enqueue_many_unique'::text,'execute as owner'::text,'{producer,worker}'::text[],'{}'::text[]), ('prepare_task'::text,'execute as owner'::text,'{producer,worker}'::text[],'{}'::text[]), ('parent_here'::text,'execute as owner'::text,'{producer,worker}'::text[],'{}'::text[]), ('refuse_call'::text,'execute'::text,'{}'::text[],'{}'::text[]), ('note_call'::text,'execute as owner'::text,'{producer,worker,operator}'::text[],'{}'::text[]), ('reserve_producer'::text,'execute as owner'::text,'{producer,worker,operator}'::text[],'{}'::text[]), ('call_made'::text,'execute as owner'::text,'{producer,worker,operator}'::text[],'{}'::text[]), ('answer_made'::text,'execute as owner'::text,'{producer,worker,operator}'::text[],'{}'::text[]), ('emit'::text,'execute as owner'::text,'{producer,worker,operator}'::text[],'{}'::text[]), ('event_lock'::text,'execute'::text,'{worker}'::text[],'{}'::text[]), ('create_queue'::text,'execute as owner'::text,'{worker,operator}'::text[],'{}'::text[]), ('complete_in'::text,'execute'::text,'{worker}'::text[],'{}'::text[]), ('step_in'::text,'execute'::text,'{worker}'::text[],'{}'::text[]), ('steps_since'::text,'execute'::text,'{worker}'::text[],'{}'::text[]), ('wait_durably'::text,'execute'::text,'{worker}'::text[],'{}'::text[]), ('record_wait'::text,'execute'::text,'{worker}'::text[],'{}'::text[]), ('suspend'::text,'execute'::text,'{worker}'::text[],'{}'::text[]), ('knows_task'::text,'execute'::text,'{worker,viewer,operator}'::text[],'{}'::text[]), ('worker_state'::text,'execute'::text,'{worker,viewer,operator}'::text[],'{}'::text[]), ('refuse_completion'::text,'execute'::text,'{worker}'::text[],'{}'::text[]), ('moment_ago'::text,'execute'::text,'{worker}'::text[],'{}'::text[]), ('place'::text,'execute'::text,'{worker}'::text[],'{}'::text[]), ('place_in_front'::text,'execute'::text,'{worker}'::text[],'{}'::text[]), ('make_partitions'::text,'execute as owner'::text,'{worker,operator}'::text[],'{}'::text[]), ('drop_oldest_day'::text,'execute as owner'::text,'{worker,operator}'::text[],'{}'::text[]), ('kept_days_to_thin'::text,'execute as owner'::text,'{worker,operator}'::text[],'{}'::text[]), ('thin_kept_day'::text,'execute as owner'::text,'{worker,operator}'::text[],'{}'::text[]), ('forget_workers'::text,'execute as owner'::text,'{worker,operator}'::text[],'{}'::text[]), ('forget_steps'::text,'execute as owner'::text,'{worker,operator}'::text[],'{}'::text[]), ('forget_calls'::text,'execute as owner'::text,'{worker,operator}'::text[],'{}'::text[]), ('forget_keys'::text,'execute as owner'::text,'{worker,operator}'::text[],'{}'::text[]), ('fire_due_ticks'::text,'execute as owner'::text,'{worker}'::text[],'{}'::text[]), ('declare_schedules'::text,'execute as owner'::text,'{worker}'::text[],'{}'::text[]), ('redacted'::text,'execute'::text,'{viewer,operator}'::text[],'{}'::text[]), ('error_fingerprint'::text,'execute'::text,'{viewer,operator}'::text[],'{}'::text[]), ('are_sound_tags'::text,'execute'::text,'{}'::text[],'{}'::text[]), ('mistake_in_tags'::text,'execute'::text,'{}'::text[],'{}'::text[]), ('tags_of_letter'::text,'execute'::text,'{}'::text[],'{}'::text[]), ('dead_letter_matches'::text,'execute'::text,'{viewer,operator}'::text[],'{}'::text[]), ('dead_letter_standing'::text,'execute'::text,'{viewer,operator}'::text[],'{}'::text[]), ('export_dead_letters'::text,'execute'::text,'{operator}'::text[],'{}'::text[]), ('import_dead_letters'::text,'execute as owner'::text,'{operator}'::text[],'{}'::text[]), ('cancel'::text,'execute as owner'::text,'{worker,operator}'::text[],'{}'::text[]), ('reschedule'::text,'execute as owner'::text,'{operator}'::text[],'{}'::text[]), ('replay'::text,'execute as owner'::text,'{operator}'::text[],'{}'::text[]), ('replay_many'::text,'execute as owner'::text,'{operator}'::text[],'{}'::text[]), ('purge'::text,'execute as owner'::text,'{operator}'::text[],'{}'::text[]), ('purge_many'::text,'execute as owner'::text,'{operator}'::text[],'{}'::text[]), ('pause_queue'::text,'execute as owner'::text,'{operator}'::text[],'{}'::text[]), ('resume_queue'::text,'execute as owner'::text,'{operator}'::text[],'{}'::text[]), ('set_queue'::text,'execute as owner'::text,'{operator}'::text[],'{}'::text[]), ('delete_queue'::text,'execute as owner'::text,'{operator}'::text[],'{}'::text[]), ('rename_queue'::text,'execute as owner'::text,'{operator}'::text[],'{}'::text[]), ('move_tasks'::text,'execute as owner'::text,'{operator}'::text[],'{}'::text[]), ('move_queue'::text,'execute as owner'::text,'{operator}'::text[],'{}'::text[]), ('record_audit'::text,'execute as owner'::text,'{operator}'::text[],'{}'::text[]), ('schedule'::text,'execute as owner'::text,'{operator}'::text[],'{}'::text[]), ('create_schedule'::text,'execute as owner'::text,'{operator}'::text[],'{}'::text[]), ('set_schedule'::text,'execute as owner'::text,'{operator}'::text[],'{}'::text[]), ('pause_schedule'::text,'execute as owner'::text,'{operator}'::text[],'{}'::text[]), ('resume_schedule'::text,'execute as owner'::text,'{operator}'::text[],'{}'::text[]), ('run_schedule'::text,'execute as owner'::text,'{operator}'::text[],'{}'::text[]), ('backfill_schedule'::text,'execute as owner'::text,'{operator}'::text[],'{}'::text[]), ('rename_schedule'::text,'execute as owner'::text,'{operator}'::text[],'{}'::text[]), ('delete_schedule'::text,'execute as owner'::text,'{operator}'::text[],'{}'::text[]), ('next_ticks'::text,'execute as owner'::text,'{viewer,operator}'::text[],'{}'::text[]), ('next_ticks_of'::text,'execute as owner'::text,'{viewer,operator}'::text[],'{}'::text[]), ('passed_over_tick'::text,'execute as owner'::text,'{viewer,operator}'::text[],'{}'::text[]), ('time_in'::text,'execute'::text,'{viewer,operator}'::text[],'{}'::text[]), ('is_sound_task'::text,'execute'::text,'{}'::text[],'{}'::text[]), ('json_bytes'::text,'execute'::text,'{}'::text[],'{}'::text[]), ('numbers_exceed'::text,'execute'::text,'{}'::text[],'{}'::text[]), ('is_one_line'::text,'execute'::text,'{worker}'::text[],'{}'::text[]), ('task_in_call'::text,'execute'::text,'{}'::text[],'{}'::text[]), ('refuse_task'::text,'execute'::text,'{}'::text[],'{}'::text[]), ('queues_to_tell_of'::text,'execute'::text,'{}'::text[],'{}'::text[]), ('refuse_arrays'::text,'execute'::text,'{}'::text[],'{}'::text[]), ('end_enqueue_of_old_snapshot'::text,'execute'::text,'{}'::text[],'{}'::text[]), ('insert_many'::text,'execute'::text,'{}'::text[],'{}'::text[]), ('require_unique_times'::text,'execute'::text,'{}'::text[],'{}'::text[]), ('require_number_of_ticks'::text,'execute'::text,'{}'::text[],'{}'::text[]), ('value_at'::text,'execute'::text,'{}'::text[],'{}'::text[]), ('value_at_each'::text,'execute'::text,'{}'::text[],'{}'::text[]), ('hashed_key'::text,'execute'::text,'{}'::text[],'{}'::text[]), ('refuse_key'::text,'execute'::text,'{}'::text[],'{}'::text[]), ('refuse_unique_bys'::text,'execute'::text,'{}'::text[],'{}'::text[]), ('take_key'::text,'execute'::text,'{}'::text[],'{}'::text[]), ('other_holder'::text,'execute'::text,'{}'::text[],'{}'::text[]), ('merge_dead_letters'::text,'execute'::text,'{}'::text[],'{}'::text[]), ('merged_args'::text,'execute'::text,'{}'::text[],'{}'::text[]), ('change_holder'::text,'execute'::text,'{}'::text[],'{}'::text[]), ('meet_holder'::text,'execute'::text,'{}'::text[],'{}'::text[]), ('days_of_open_ticks'::text,'execute as owner'::text,'{worker,viewer,operator}'::text[],'{}'::text[]), ('renamed_at'::text,'execute'::text,'{}'::text[],'{}'::text[]), ('end_expired'::text,'execute'::text,'{worker}'::text[],'{}'::text[]), ('those'::text,'execute'::text,'{}'::text[],'{}'::text[]), ('for_each'::text,'execute'::text,'{}'::text[],'{}'::text[]), ('has_room'::text,'execute as owner'::text,'{}'::text[],'{}'::text[]), ('held_of_queue'::text,'execute as owner'::text,'{}'::text[],'{}'::text[]), ('require_room'::text,'execute'::text,'{}'::text[],'{}'::text[]), ('refuse_for_depth'::text,'execute'::text,'{}'::text[],'{}'::text[]), ('prepare_to_count'::text,'execute'::text,'{}'::text[],'{}'::text[]), ('tell_of_queues'::text,'execute'::text,'{}'::text[],'{}'::text[]), ('require_queue_name'::text,'execute'::text,'{}'::text[],'{}'::text[]), ('nearest_names'::text,'execute'::text,'{worker,viewer,operator}'::text[],'{}'::text[]), ('nearest_queues'::text,'execute'::text,'{worker,viewer,operator}'::text[],'{}'::text[]), ('lock_queue'::text,'execute'::text,'{}'::text[],'{}'::text[]), ('lock_queues'::text,'execute'::text,'{}'::text[],'{}'::text[]), ('require_queue'::text,'execute'::text,'{}'::text[],'{}'::text[]), ('require_not_served'::text,'execute'::text,'{}'::text[],'{}'::text[]), ('require_queue_settings'::text,'execute'::text,'{}'::text[],'{}'::text[]), ('require_longer_than_all'::text,'execute'::text,'{}'::text[],'{}'::text[]), ('audit_actor'::text,'execute'::text,'{}'::text[],'{}'::text[]), ('audit_settings'::text,'execute'::text,'{}'::text[],'{}'::text[]), ('require_read_committed'::text,'execute'::text,'{}'::text[],'{}'::text[]), ('refuse_dead_letter'::text,'execute'::text,'{}'::text[],'{}'::text[]), ('first_of'::text,'execute'::text,'{}'::text[],'{}'::text[]), ('refuse_spec'::text,'execute'::text,'{}'::text[],'{}'::text[]), ('compile_spec'::text,'execute'::text,'{}'::text[],'{}'::text[]), ('next_tick'::text,'execute'::text,'{}'::text[],'{}'::text[]), ('cron_number'::text,'execute'::text,'{}'::text[],'{}'::text[]), ('cron_element'::text,'execute'::text,'{}'::text[],'{}'::text[]), ('cron_field'::text,'execute'::text,'{}'::text[],'{}'::text[]), ('cron_days'::text,'execute'::text,'{}'::text[],'{}'::text[]), ('cron_weekdays'::text,'execute'::text,'{}'::text[],'{}'::text[]), ('compile_every'::text,'execute'::text,'{}'::text[],'{}'::text[]), ('fits_day'::text,'execute'::text,'{}'::text[],'{}'::text[]), ('next_time_of_day'::text,'execute'::text,'{}'::text[],'{}'::text[]), ('next_local_time'::text,'execute'::text,'{}'::text[],'{}'::text[]), ('offset_at'::text,'execute'::text,'{}'::text[],'{}'::text[]), ('change_of_offset'::text,'execute'::text,'{}'::text[],'{}'::text[]), ('first_instant_of'::text,'execute'::text,'{}'::text[],'{}'::text[]), ('next_fixed_tick'::text,'execute'::text,'{}'::text[],'{}'::text[]), ('next_elapsed_tick'::text,'execute'::text,'{}'::text[],'{}'::text[]), ('refuse_schedule'::text,'execute'::text,'{}'::text[],'{}'::text[]), ('require_schedule_name'::text,'execute'::text,'{}'::text[],'{}'::text[]), ('lock_schedule'::text,'execute'::text,'{}'::text[],'{}'::text[]), ('is_time_zone'::text,'execute'::text,'{}'::text[],'{}'::text[]), ('require_time_zone'::text,'execute'::text,'{}'::text[],'{}'::text[]), ('shortest_gap'::text,'execute'::text,'{}'::text[],'{}'::text[]), ('require_sound_spec'::text,'execute'::text,'{}'::text[],'{}'::text[]), ('require_schedule_settings'::text,'execute'::text,'{}'::text[],'{}'::text[]), ('fires_at_of'::text,'execute'::text,'{}'::text[],'{}'::text[]), ('looked_after_at'::text,'execute'::text,'{}'::text[],'{}'::text[]), ('settle_times_before_change'::text,'execute'::text,'{}'::text[],'{}'::text[]), ('skip_until'::text,'execute'::text,'{}'::text[],'{}'::text[]), ('fire_or_put_off'::text,'execute'::text,'{}'::text[],'{}'::text[]), ('put_schedule'::text,'execute'::text,'{}'::text[],'{}'::text[]), ('require_enqueueable'::text,'execute'::text,'{}'::text[],'{}'::text[]), ('store_schedule'::text,'execute'::text,'{}'::text[],'{}'::text[]), ('first_waiting_tick'::text,'execute'::text,'{}'::text[],'{}'::text[]), ('note_tick'::text,'execute'::text,'{}'::text[],'{}'::text[]), ('start_tick'::text,'execute'::text,'{}'::text[],'{}'::text[]), ('alive_of'::text,'execute'::text,'{}'::text[],'{}'::text[]), ('cancel_tasks_of'::text,'execute'::text,'{}'::text[],'{}'::text[]), ('skip_waiting'::text,'execute'::text,'{}'::text[],'{}'::text[]), ('is_to_cancel_others'::text,'execute'::text,'{}'::text[],'{}'::text[]), ('start_waiting_tick'::text,'execute'::text,'{}'::text[],'{}'::text[]), ('is_tick_decided'::text,'execute'::text,'{}'::text[],'{}'::text[]), ('decide_tick'::text,'execute'::text,'{}'::text[],'{}'::text[]), ('first_to_fire'::text,'execute'::text,'{}'::text[],'{}'::text[]), ('fire_schedule'::text,'execute'::text,'{}'::text[],'{}'::text[]), ('ticks_to_backfill'::text,'execute'::text,'{}'::text[],'{}'::text[]), ('hand_range_on'::text,'execute'::text,'{}'::text[],'{}'::text[]), ('tell_of_schedules'::text,'execute'::text,'{}'::text[],'{}'::text[]), ('moment_of_partitions'::text,'execute'::text,'{}'::text[],'{}'::text[]), ('require_undeclared'::text,'execute'::text,'{}'::text[],'{}'::text[]), ('declared_now'::text,'execute'::text,'{}'::text[],'{}'::text[]), ('adopt_declaration'::text,'execute'::text,'{}'::text[],'{}'::text[]), ('is_declared'::text,'execute'::text,'{}'::text[],'{}'::text[]), ('schedule_to_rename'::text,'execute'::text,'{}'::text[],'{}'::text[]), ('renamed_schedule'::text,'execute'::text,'{}'::text[],'{}'::text[]), ('make_partition'::text,'execute'::text,'{}'::text[],'{}'::text[]), ('days_to_make'::text,'execute'::text,'{}'::text[],'{}'::text[]), ('make_kept_history'::text,'execute'::text,'{}'::text[],'{}'::text[]), ('make_kept_tasks'::text,'execute'::text,'{}'::text[],'{}'::text[]), ('queues_keeping'::text,'execute'::text,'{}'::text[],'{}'::text[]), ('keep_rows_of_day'::text,'execute'::text,'{}'::text[],'{}'::text[]), ('replace_day'::text,'execute'::text,'{}'::text[],'{}'::text[]), ('refuse_bad_retention'::text,'execute'::text,'{}'::text[],'{}'::text[]), ('refuse_change_of_history'::text,'execute'::text,'{}'::text[],'{}'::text[]), ('refuse_change_of_audit'::text,'execute'::text,'{}'::text[],'{}'::text[]), ('refuse_to_forget_worker'::text,'execute'::text,'{}'::text[],'{}'::text[]), ('role_names'::text,'execute'::text,'{}'::text[],'{}'::text[]), ('make_roles'::text,'execute'::text,'{}'::text[],'{}'::text[]), ('revoke_rights'::text,'execute'::text,'{}'::text[],'{}'::text[]), ('grant_rights'::text,'execute'::text,'{}'::text[],'{}'::text[])) r(object, privileges, roles, except_columns);

COMMENT ON VIEW dogged.rights IS 'The roles that may use each table, view, sequence or function. `dogged migrate` grants these rights if `dogged migrate --roles` has made the roles.';

COMMENT ON COLUMN dogged.rights.object IS 'The name of a table, view, sequence or function. The name of a function means all functions of that name.';

COMMENT ON COLUMN dogged.rights.privileges IS 'As GRANT names them. execute as owner: the function runs with the rights of the schema''s owner (security definer).';

COMMENT ON COLUMN dogged.rights.roles IS 'producer, worker, viewer, operator; the role''s name is settings.role_prefix, _ and this. Empty: the owner alone.';

COMMENT ON COLUMN dogged.rights.except_columns IS 'The privileges are for all other columns of the table; empty: for the whole table.';

CREATE TABLE dogged.schedule_declarations (
    name text NOT NULL,
    settings jsonb NOT NULL,
    first_seen_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL
);

COMMENT ON TABLE dogged.schedule_declarations IS 'Every declaration that a program has made of a schedule (TASK_SCHEDULE): it tells which of two versions of a program is the newer.';

COMMENT ON COLUMN dogged.schedule_declarations.name IS 'The schedule''s name.';

COMMENT ON COLUMN dogged.schedule_declarations.settings IS 'What was declared, as dogged.set_schedule takes it.';

COMMENT ON COLUMN dogged.schedule_declarations.first_seen_at IS 'When a worker first declared this.';

CREATE VIEW dogged.schedule_overview AS
 SELECT s.id,
    s.name,
    s.task,
    s.spec,
    s.time_zone,
        CASE
            WHEN (EXISTS ( SELECT
               FROM dogged.task_definitions d
              WHERE ((d.name = s.task) AND (d.redact <> '{}'::text[])))) THEN dogged.redacted(s.task, s.args)
            ELSE s.args
        END AS args,
    s.args_version,
    s.queue,
    s.priority,
    s.jitter_ms,
    s.overlap,
    s.catch_up_ms,
    s.catch_up_limit,
        CASE
            WHEN (s.paused_at IS NOT NULL) THEN 'paused'::text
            WHEN (s.next_at IS NULL) THEN 'ended'::text
            WHEN ((s.declared IS NOT NULL) AND (NOT (EXISTS ( SELECT
               FROM dogged.workers w
              WHERE ((w.schedules ? s.name) AND (w.stopped_at IS NULL) AND (w.lease_ended_at IS NULL))))) AND (EXISTS ( SELECT
               FROM dogged.workers w
              WHERE ((w.stopped_at IS NULL) AND (w.lease_ended_at IS NULL))))) THEN 'orphaned'::text
            WHEN (NOT (EXISTS ( SELECT
               FROM dogged.task_definitions d
              WHERE (d.name = s.task)))) THEN 'unknown task'::text
            ELSE 'active'::text
        END AS state,
    s.next_at,
    s.paused_at,
    (s.declared IS NOT NULL) AS is_declared,
    s.created_at,
    s.changed_at,
    last.scheduled_at AS last_at,
    last.outcome AS last_outcome,
    last.reason AS last_reason,
    last.late_ms AS last_late_ms,
    last.task_id AS last_task_id
   FROM (dogged.schedules s
     LEFT JOIN LATERAL ( SELECT t.schedule_id,
            t.scheduled_at,
            t.outcome,
            t.reason,
            t.origin,
            t.decided_at,
            t.late_ms,
            t.task_id,
            t.skipped_until
           FROM dogged.schedule_ticks t
          WHERE ((t.schedule_id = s.id) AND (t.scheduled_at <= s.last_tick_at) AND (t.scheduled_at > (s.last_tick_at - '31 days'::interval)))
          ORDER BY t.scheduled_at DESC
         LIMIT 1) last ON (true));

COMMENT ON VIEW dogged.schedule_overview IS 'One row for each schedule, with its state and its last tick.';

COMMENT ON COLUMN dogged.schedule_overview.id IS 'Stays when the schedule is renamed, and is never given again: ticks are kept by it.';

COMMENT ON COLUMN dogged.schedule_overview.name IS 'The schedule''s name.';

COMMENT ON COLUMN dogged.schedule_overview.task IS 'The name of the task that it enqueues.';

COMMENT ON COLUMN dogged.schedule_overview.spec IS 'When it fires, as it was written: 0 3 * * *, @daily, every 90s.';

COMMENT ON COLUMN dogged.schedule_overview.time_zone IS 'The IANA time zone in which the spec is read.';

COMMENT ON COLUMN dogged.schedule_overview.args IS 'The args of its tasks, redacted as the task declares.';

COMMENT ON COLUMN dogged.schedule_overview.args_version IS 'The version of the args in the task''s key; null: 1.';

COMMENT ON COLUMN dogged.schedule_overview.queue IS 'The queue of its tasks; null: that of the task''s definition.';

COMMENT ON COLUMN dogged.schedule_overview.priority IS 'The priority of its tasks.';

COMMENT ON COLUMN dogged.schedule_overview.jitter_ms IS 'Each tick is put off by up to this long, always by the same time for the same tick, so that many schedules of one time spread.';

COMMENT ON COLUMN dogged.schedule_overview.overlap IS 'What becomes of a tick while the task of an earlier tick has not ended.';

COMMENT ON COLUMN dogged.schedule_overview.catch_up_ms IS 'Ticks that nobody could fire in time are made up for while they are no older than this; null: however old.';

COMMENT ON COLUMN dogged.schedule_overview.catch_up_limit IS 'How many of them at most, the latest; 0: none; null: all.';

COMMENT ON COLUMN dogged.schedule_overview.state IS 'active; paused; ended: its spec has no more times; orphaned: a program declared it, and no live worker does any more; unknown task: no worker has declared its task.';

COMMENT ON COLUMN dogged.schedule_overview.next_at IS 'The time of the next tick, without its jitter; null: the spec has no more.';

COMMENT ON COLUMN dogged.schedule_overview.paused_at IS 'When it was paused; null: it is not.';

COMMENT ON COLUMN dogged.schedule_overview.is_declared IS 'Whether a program declared it (TASK_SCHEDULE).';

COMMENT ON COLUMN dogged.schedule_overview.created_at IS 'When it was created.';

COMMENT ON COLUMN dogged.schedule_overview.changed_at IS 'When its settings were last changed.';

COMMENT ON COLUMN dogged.schedule_overview.last_at IS 'The time of the last tick, as its other last_ columns: schedule_ticks.';

COMMENT ON COLUMN dogged.schedule_overview.last_outcome IS 'What became of it.';

COMMENT ON COLUMN dogged.schedule_overview.last_reason IS 'Why it was skipped.';

COMMENT ON COLUMN dogged.schedule_overview.last_late_ms IS 'How late it was decided.';

COMMENT ON COLUMN dogged.schedule_overview.last_task_id IS 'The task that it enqueued.';

CREATE TABLE dogged.schedule_ticks_default (
    schedule_id bigint NOT NULL,
    scheduled_at timestamp with time zone NOT NULL,
    outcome dogged.tick_outcome NOT NULL,
    reason text,
    origin text NOT NULL,
    decided_at timestamp with time zone NOT NULL,
    late_ms bigint,
    task_id bigint,
    skipped_until timestamp with time zone
);

COMMENT ON TABLE dogged.schedule_ticks_default IS 'For days that have no partition yet; dogged.make_partitions moves its rows.';

COMMENT ON COLUMN dogged.schedule_ticks_default.schedule_id IS 'The schedule: schedules.id. It may be gone.';

COMMENT ON COLUMN dogged.schedule_ticks_default.scheduled_at IS 'The tick''s time by the spec, without jitter.';

COMMENT ON COLUMN dogged.schedule_ticks_default.outcome IS 'Whether its task was enqueued.';

COMMENT ON COLUMN dogged.schedule_ticks_default.reason IS 'Why it was skipped: overlap (the task before it had not ended), missed (nobody could fire it in time), paused, superseded (a later tick took the place in which it waited), deleted (its schedule was), full (1000 ticks wait), or the error of the enqueue. Null where it was not skipped.';

COMMENT ON COLUMN dogged.schedule_ticks_default.origin IS 'Where the tick comes from: the clock, a backfill, or a run by hand (hand).';

COMMENT ON COLUMN dogged.schedule_ticks_default.decided_at IS 'When the outcome was decided.';

COMMENT ON COLUMN dogged.schedule_ticks_default.late_ms IS 'How long after its time, with its jitter, that was; null for a backfill.';

COMMENT ON COLUMN dogged.schedule_ticks_default.task_id IS 'The task that was enqueued: tasks.id. It may have been dropped since.';

COMMENT ON COLUMN dogged.schedule_ticks_default.skipped_until IS 'For ticks that were missed or fell into a pause: this row stands for all ticks from scheduled_at until before this time.';

ALTER TABLE dogged.schedules ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME dogged.schedules_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE dogged.schema_files (
    name text NOT NULL,
    checksum text NOT NULL,
    applied_at timestamp with time zone DEFAULT now() NOT NULL,
    applied_by text NOT NULL
);

COMMENT ON TABLE dogged.schema_files IS 'The applied files of the SQL interface (views, functions). A file that changes is applied again.';

COMMENT ON COLUMN dogged.schema_files.name IS 'The file''s name.';

COMMENT ON COLUMN dogged.schema_files.checksum IS 'SHA-256 of the file''s text.';

COMMENT ON COLUMN dogged.schema_files.applied_at IS 'When the file was last applied.';

COMMENT ON COLUMN dogged.schema_files.applied_by IS 'The version of dogged that applied the file.';

CREATE TABLE dogged.schema_migrations (
    version integer NOT NULL,
    name text NOT NULL,
    checksum text NOT NULL,
    applied_at timestamp with time zone DEFAULT now() NOT NULL,
    applied_by text NOT NULL
);

COMMENT ON TABLE dogged.schema_migrations IS 'The applied migrations.';

COMMENT ON COLUMN dogged.schema_migrations.version IS 'The number in the file''s name.';

COMMENT ON COLUMN dogged.schema_migrations.name IS 'The file''s name.';

COMMENT ON COLUMN dogged.schema_migrations.checksum IS 'SHA-256 of the file''s text: an applied migration must not change.';

COMMENT ON COLUMN dogged.schema_migrations.applied_at IS 'When the migration was applied.';

COMMENT ON COLUMN dogged.schema_migrations.applied_by IS 'The version of dogged that applied the migration.';

CREATE TABLE dogged.task_attempts_default (
    task_id bigint NOT NULL,
    attempt integer NOT NULL,
    name text NOT NULL,
    queue text NOT NULL,
    outcome dogged.attempt_outcome NOT NULL,
    worker_id bigint NOT NULL,
    claimed_at timestamp with time zone NOT NULL,
    started_at timestamp with time zone NOT NULL,
    finished_at timestamp with time zone NOT NULL,
    error_code text,
    error_message text,
    error_details jsonb,
    will_retry boolean NOT NULL,
    next_retry_at timestamp with time zone,
    policy text,
    backoff_ms bigint,
    delay_ms bigint,
    retry_after_ms bigint,
    trace_context text
);

COMMENT ON TABLE dogged.task_attempts_default IS 'For days that have no partition yet; dogged.make_partitions moves its rows.';

COMMENT ON COLUMN dogged.task_attempts_default.task_id IS 'The task: tasks.id.';

COMMENT ON COLUMN dogged.task_attempts_default.attempt IS '1, 2, 3 … for the whole life of the task, without a gap.';

COMMENT ON COLUMN dogged.task_attempts_default.name IS 'The task''s name, so that queries on many attempts need no join.';

COMMENT ON COLUMN dogged.task_attempts_default.queue IS 'The queue that the task was in.';

COMMENT ON COLUMN dogged.task_attempts_default.outcome IS 'How the attempt ended (docs/lifecycle.md).';

COMMENT ON COLUMN dogged.task_attempts_default.worker_id IS 'The worker that ran the attempt: workers.id.';

COMMENT ON COLUMN dogged.task_attempts_default.claimed_at IS 'When the worker claimed the task.';

COMMENT ON COLUMN dogged.task_attempts_default.started_at IS 'When the handler began; for a lost attempt, when the task was claimed.';

COMMENT ON COLUMN dogged.task_attempts_default.finished_at IS 'When the handler ended, called complete_in, or was given up; for a lost attempt, when the task was rescued.';

COMMENT ON COLUMN dogged.task_attempts_default.error_code IS 'Null unless the outcome is failed, timed_out, cancelled or lost.';

COMMENT ON COLUMN dogged.task_attempts_default.error_message IS 'The error message; an interrupted or snoozed attempt may have one as well.';

COMMENT ON COLUMN dogged.task_attempts_default.error_details IS 'Details that the handler added to its error (TaskError::details), as JSON.';

COMMENT ON COLUMN dogged.task_attempts_default.will_retry IS 'Whether another attempt was scheduled when this one ended.';

COMMENT ON COLUMN dogged.task_attempts_default.next_retry_at IS 'finished_at + delay_ms where will_retry.';

COMMENT ON COLUMN dogged.task_attempts_default.policy IS 'The applied retry policy, as `dogged policy show` reads it; null where no policy decided on a retry.';

COMMENT ON COLUMN dogged.task_attempts_default.backoff_ms IS 'The delay by the policy, before jitter.';

COMMENT ON COLUMN dogged.task_attempts_default.delay_ms IS 'The delay after jitter.';

COMMENT ON COLUMN dogged.task_attempts_default.retry_after_ms IS 'The delay that the error gave, in place of the policy''s delay.';

COMMENT ON COLUMN dogged.task_attempts_default.trace_context IS 'The trace of the attempt, if the worker made it the root of one; else the task''s trace context, as the producer gave it.';

CREATE TABLE dogged.task_checkpoints (
    task_id bigint NOT NULL,
    name text NOT NULL,
    attempt integer NOT NULL,
    value jsonb NOT NULL,
    saved_at timestamp with time zone NOT NULL,
    CONSTRAINT task_checkpoints_name_check CHECK (((octet_length(name) <= 128) AND (name ~ '^[A-Za-z0-9][A-Za-z0-9._:/-]*$'::text)))
)
WITH (fillfactor='50');

COMMENT ON TABLE dogged.task_checkpoints IS 'Where the loops of tasks go on (Context::checkpoint): the latest place of each. Rows of tasks that have ended go with the next retention (dogged.forget_steps).';

COMMENT ON COLUMN dogged.task_checkpoints.task_id IS 'The task: tasks.id.';

COMMENT ON COLUMN dogged.task_checkpoints.name IS 'The name that the handler gave the loop.';

COMMENT ON COLUMN dogged.task_checkpoints.attempt IS 'The attempt that saved the place.';

COMMENT ON COLUMN dogged.task_checkpoints.value IS 'The place, as JSON. It may hold what the task''s definition hides.';

COMMENT ON COLUMN dogged.task_checkpoints.saved_at IS 'When it was saved.';

CREATE TABLE dogged.task_progress (
    task_id bigint NOT NULL,
    attempt integer NOT NULL,
    fraction double precision,
    message text NOT NULL,
    reported_at timestamp with time zone NOT NULL,
    CONSTRAINT task_progress_fraction_check CHECK (((fraction >= (0)::double precision) AND (fraction <= (1)::double precision))),
    CONSTRAINT task_progress_message_check CHECK ((octet_length(message) <= 1000))
)
WITH (fillfactor='50');

COMMENT ON TABLE dogged.task_progress IS 'How far tasks have come: the latest that the handler of each has said (Context::progress). task_overview shows it. Rows of tasks that have ended go with the next retention (dogged.forget_steps), but those of dead letters stay.';

COMMENT ON COLUMN dogged.task_progress.task_id IS 'The task: tasks.id.';

COMMENT ON COLUMN dogged.task_progress.attempt IS 'The attempt that said so.';

COMMENT ON COLUMN dogged.task_progress.fraction IS 'The part that is done, 0 to 1; null: the handler does not know.';

COMMENT ON COLUMN dogged.task_progress.message IS 'What the handler said, cut to 1,000 bytes.';

COMMENT ON COLUMN dogged.task_progress.reported_at IS 'When the handler said so.';

CREATE VIEW dogged.waiting AS
 SELECT w.task_id,
    t.name,
    t.queue,
    w.waits_for,
    w.name AS step,
    w.attempt,
    w.began_at AS since,
    w.until
   FROM (( SELECT 'event'::text AS waits_for,
            e.task_id,
            e.name,
            e.attempt,
            e.for_event,
            e.began_at,
            e.until,
            e.arrived_at,
            e.payload
           FROM dogged.task_waits e
          WHERE e.for_event
        UNION ALL
         SELECT 'sleep'::text AS text,
            s.task_id,
            s.name,
            s.attempt,
            s.for_event,
            s.began_at,
            s.until,
            s.arrived_at,
            s.payload
           FROM dogged.task_waits s
          WHERE (NOT s.for_event)) w
     JOIN dogged.tasks_live t ON (((t.id = w.task_id) AND (t.attempt = w.attempt) AND (t.status = 'pending'::dogged.task_status) AND t.deferred)))
  WHERE ((w.arrived_at IS NULL) AND (w.until > now()));

COMMENT ON VIEW dogged.waiting IS 'One row for each task that sleeps (Context::sleep) or waits for an event (Context::wait_event).';

COMMENT ON COLUMN dogged.waiting.task_id IS 'The task: tasks.id.';

COMMENT ON COLUMN dogged.waiting.name IS 'The task''s name.';

COMMENT ON COLUMN dogged.waiting.queue IS 'The task''s queue.';

COMMENT ON COLUMN dogged.waiting.waits_for IS 'sleep or event.';

COMMENT ON COLUMN dogged.waiting.step IS 'The name of the event, or of the sleep: the step that the wait will be.';

COMMENT ON COLUMN dogged.waiting.attempt IS 'The attempt that came to the wait last.';

COMMENT ON COLUMN dogged.waiting.since IS 'When the first attempt came to the wait.';

COMMENT ON COLUMN dogged.waiting.until IS 'When the wait is over, if no event ends it before.';

CREATE VIEW dogged.task_overview AS
 SELECT t.id,
    t.name,
    t.queue,
    t.status,
        CASE
            WHEN (t.status = 'failed'::dogged.task_status) THEN 'failed: a dead letter'::text
            WHEN (t.status <> ALL (ARRAY['pending'::dogged.task_status, 'running'::dogged.task_status])) THEN (t.status)::text
            WHEN ((t.status = 'running'::dogged.task_status) AND (t.cancel_requested_at IS NOT NULL)) THEN 'runs, and is asked to stop'::text
            WHEN ((t.status = 'running'::dogged.task_status) AND (EXISTS ( SELECT
               FROM dogged.workers w
              WHERE ((w.id = t.worker_id) AND (w.lease_ended_at IS NOT NULL))))) THEN 'lost its worker, and waits to be rescued'::text
            WHEN ((t.status = 'running'::dogged.task_status) AND (EXISTS ( SELECT
               FROM dogged.workers w
              WHERE ((w.id = t.worker_id) AND (w.lease_until < now()))))) THEN 'runs, but its worker does not renew its lease'::text
            WHEN (t.status = 'running'::dogged.task_status) THEN 'runs'::text
            WHEN (EXISTS ( SELECT
               FROM dogged.waiting w
              WHERE ((w.task_id = t.id) AND (w.waits_for = 'sleep'::text)))) THEN 'sleeps'::text
            WHEN (EXISTS ( SELECT
               FROM dogged.waiting w
              WHERE ((w.task_id = t.id) AND (w.waits_for = 'event'::text)))) THEN 'waits for an event'::text
            WHEN ((t.next_retry_at > now()) AND (t.snoozes > 0) AND (EXISTS ( SELECT
               FROM dogged.task_attempts a
              WHERE ((a.task_id = t.id) AND (a.attempt = t.attempt) AND (a.finished_at >= t.claimed_at) AND (a.outcome = 'snoozed'::dogged.attempt_outcome) AND (a.next_retry_at = t.next_retry_at))))) THEN 'snoozes'::text
            WHEN (t.deferred AND (t.next_retry_at IS NOT NULL) AND (EXISTS ( SELECT
               FROM (dogged.task_definitions d
                 JOIN dogged.circuits c ON ((c.name = d.circuit)))
              WHERE ((d.name = t.name) AND (c.state <> 'closed'::dogged.circuit_state))))) THEN 'waits for its circuit to close'::text
            WHEN ((COALESCE(t.next_retry_at, t.run_at) > now()) AND (t.attempt > 0)) THEN 'waits for its retry'::text
            WHEN (COALESCE(t.next_retry_at, t.run_at) > now()) THEN 'waits for its time'::text
            WHEN (EXISTS ( SELECT
               FROM dogged.queues q
              WHERE ((q.name = t.queue) AND (q.paused_at IS NOT NULL) AND COALESCE((q.paused_until > now()), true)))) THEN 'is due, but its queue is paused'::text
            WHEN (EXISTS ( SELECT
               FROM dogged.workers w
              WHERE ((dogged.worker_state(w.lease_until, w.stop_began_at, w.lease_ended_at, w.stopped_at) = 'live'::text) AND (w.queues ? t.queue) AND dogged.knows_task(w.task_names, w.args_versions, t.name, t.args_version)))) THEN 'is due, and waits for its turn'::text
            WHEN ((t.args_version IS NOT NULL) AND (EXISTS ( SELECT
               FROM dogged.workers w
              WHERE ((dogged.worker_state(w.lease_until, w.stop_began_at, w.lease_ended_at, w.stopped_at) = 'live'::text) AND (w.queues ? t.queue) AND (t.name = ANY (w.task_names)))))) THEN 'is due, but its args are of a later version than its workers know'::text
            ELSE 'is due, but no worker serves its queue and knows it'::text
        END AS state,
        CASE
            WHEN (t.status = 'running'::dogged.task_status) THEN t.claimed_at
            WHEN (t.status <> 'pending'::dogged.task_status) THEN t.finished_at
            WHEN (COALESCE(t.next_retry_at, t.run_at) <= now()) THEN COALESCE(t.next_retry_at, t.run_at)
            WHEN (t.attempt > 0) THEN COALESCE(( SELECT a.finished_at
               FROM dogged.task_attempts a
              WHERE ((a.task_id = t.id) AND (a.attempt = t.attempt) AND (a.finished_at >= t.claimed_at))
             LIMIT 1), t.claimed_at)
            ELSE t.enqueued_at
        END AS since,
        CASE
            WHEN (t.status = 'pending'::dogged.task_status) THEN COALESCE(t.next_retry_at, t.run_at)
            ELSE NULL::timestamp with time zone
        END AS next_run_at,
    t.attempt AS attempts,
    t.retry_count,
    t.losses,
    t.error_code AS last_error_code,
    t.error_message AS last_error_message,
    ( SELECT w.name
           FROM dogged.workers w
          WHERE (w.id = t.worker_id)) AS worker,
    t.priority,
    dogged.redacted(t.name, t.args) AS args,
    dogged.redacted(t.name, t.result) AS result,
    t.enqueued_at,
    t.run_at,
    t.claimed_at,
    t.finished_at,
    t.cancel_requested_at,
    t.trace_context,
    COALESCE(t.tags, '{}'::text[]) AS tags,
    t.parent_id,
    COALESCE(t.args_version, (1)::smallint) AS args_version,
    ( SELECT
                CASE
                    WHEN (a.policy = 'none'::text) THEN 0
                    WHEN (a.policy ~~ 'fixed intervals=%'::text) THEN cardinality(string_to_array("substring"(a.policy, 'intervals=([^ ]+)'::text), ','::text))
                    ELSE ("substring"(a.policy, 'max_retries=([0-9]+)'::text))::integer
                END AS "substring"
           FROM dogged.task_attempts a
          WHERE ((a.task_id = t.id) AND (a.policy IS NOT NULL) AND (a.finished_at >= t.enqueued_at))
          ORDER BY a.attempt DESC
         LIMIT 1) AS max_retries,
    COALESCE(t.snoozes, 0) AS snoozes,
    t.unique_key,
    ( SELECT p.fraction
           FROM dogged.task_progress p
          WHERE ((p.task_id = t.id) AND (t.status <> 'succeeded'::dogged.task_status))) AS progress,
    ( SELECT p.message
           FROM dogged.task_progress p
          WHERE ((p.task_id = t.id) AND (t.status <> 'succeeded'::dogged.task_status))) AS progress_message,
    ( SELECT p.attempt
           FROM dogged.task_progress p
          WHERE ((p.task_id = t.id) AND (t.status <> 'succeeded'::dogged.task_status))) AS progress_attempt,
    ( SELECT p.reported_at
           FROM dogged.task_progress p
          WHERE ((p.task_id = t.id) AND (t.status <> 'succeeded'::dogged.task_status))) AS progress_at
   FROM dogged.tasks t;

COMMENT ON VIEW dogged.task_overview IS 'One row for each task, with its state in words. Query one id, the newest tasks (order by id desc limit …), a status, or a short time by finished_at. A query by finished_at reads only the days in that time.';

COMMENT ON COLUMN dogged.task_overview.id IS 'The task''s id.';

COMMENT ON COLUMN dogged.task_overview.name IS 'The task''s name.';

COMMENT ON COLUMN dogged.task_overview.queue IS 'The task''s queue.';

COMMENT ON COLUMN dogged.task_overview.status IS 'For programs: pending, running, succeeded, failed, discarded, cancelled or expired.';

COMMENT ON COLUMN dogged.task_overview.state IS 'The same for people: why the task waits, or how it ended. Programs use status.';

COMMENT ON COLUMN dogged.task_overview.since IS 'When the task entered that state.';

COMMENT ON COLUMN dogged.task_overview.next_run_at IS 'When a pending task is due.';

COMMENT ON COLUMN dogged.task_overview.attempts IS 'The number of attempts begun.';

COMMENT ON COLUMN dogged.task_overview.retry_count IS 'Retries spent.';

COMMENT ON COLUMN dogged.task_overview.losses IS 'Attempts that ended because their worker died.';

COMMENT ON COLUMN dogged.task_overview.last_error_code IS 'The error code of the last failed attempt.';

COMMENT ON COLUMN dogged.task_overview.last_error_message IS 'The error message of the last failed attempt.';

COMMENT ON COLUMN dogged.task_overview.worker IS 'The name of the worker that runs the task, or ran it last.';

COMMENT ON COLUMN dogged.task_overview.priority IS 'Lower priorities run first.';

COMMENT ON COLUMN dogged.task_overview.args IS 'The enqueued args, without the values that the task''s definition hides (task_definitions.redact).';

COMMENT ON COLUMN dogged.task_overview.result IS 'The handler''s return value, without the values that the task''s definition hides.';

COMMENT ON COLUMN dogged.task_overview.enqueued_at IS 'When the task was enqueued.';

COMMENT ON COLUMN dogged.task_overview.run_at IS 'The first attempt does not begin before this time.';

COMMENT ON COLUMN dogged.task_overview.claimed_at IS 'When a worker last claimed the task.';

COMMENT ON COLUMN dogged.task_overview.finished_at IS 'When the task ended.';

COMMENT ON COLUMN dogged.task_overview.cancel_requested_at IS 'When dogged.cancel was called while an attempt ran.';

COMMENT ON COLUMN dogged.task_overview.trace_context IS 'The trace context, as the producer gave it.';

COMMENT ON COLUMN dogged.task_overview.tags IS 'Words that the producer gave the task.';

COMMENT ON COLUMN dogged.task_overview.parent_id IS 'The parent: the task of the handler that enqueued this one, or the task that the producer named. Null: none.';

COMMENT ON COLUMN dogged.task_overview.args_version IS 'The version of the args.';

COMMENT ON COLUMN dogged.task_overview.max_retries IS 'How many retries the policy allows that was applied last; null if none was applied yet. A policy that changes later changes nothing here before the next failure.';

COMMENT ON COLUMN dogged.task_overview.snoozes IS 'Attempts that ended because the handler snoozed, since the task was enqueued or replayed.';

COMMENT ON COLUMN dogged.task_overview.unique_key IS 'The key of a unique task, as the producer gave it, or the hash of the args that it covers; null: the task is not unique.';

COMMENT ON COLUMN dogged.task_overview.progress IS 'The part that is done, 0 to 1, as a handler has said last (Context::progress); null: no handler has said so, or the task has succeeded.';

COMMENT ON COLUMN dogged.task_overview.progress_message IS 'What that handler said of it.';

COMMENT ON COLUMN dogged.task_overview.progress_attempt IS 'The attempt that said so.';

COMMENT ON COLUMN dogged.task_overview.progress_at IS 'When it said so.';

CREATE TABLE dogged.task_steps_default (
    task_id bigint NOT NULL,
    name text,
    attempt integer NOT NULL,
    task_name text NOT NULL,
    worker_id bigint,
    started_at timestamp with time zone NOT NULL,
    finished_at timestamp with time zone NOT NULL,
    result jsonb,
    waits_for text
);

COMMENT ON TABLE dogged.task_steps_default IS 'For days that have no partition yet; dogged.make_partitions moves its rows.';

COMMENT ON COLUMN dogged.task_steps_default.task_id IS 'The task: tasks.id.';

COMMENT ON COLUMN dogged.task_steps_default.name IS 'The name that the handler gave the step. Null: the task was replayed, and steps of attempts up to this one do not count.';

COMMENT ON COLUMN dogged.task_steps_default.attempt IS 'The attempt that ran the step. Of several attempts with a step of this name, the record of the latest counts.';

COMMENT ON COLUMN dogged.task_steps_default.task_name IS 'The task''s name, so that queries on many steps need no join.';

COMMENT ON COLUMN dogged.task_steps_default.worker_id IS 'The worker that ran the attempt: workers.id.';

COMMENT ON COLUMN dogged.task_steps_default.started_at IS 'When the step began; of a replay, when it was.';

COMMENT ON COLUMN dogged.task_steps_default.finished_at IS 'When the step ended; of a replay, when it was. Never before the task was enqueued: statements read the days since then alone, and a clock that was set back must not make them miss a step.';

COMMENT ON COLUMN dogged.task_steps_default.result IS 'What the step gave, as JSON. Show results to people only through task_steps_overview.';

COMMENT ON COLUMN dogged.task_steps_default.waits_for IS 'Of a wait that is over: sleep (Context::sleep) or event (Context::wait_event). Null: a step, or a replay.';

CREATE VIEW dogged.task_steps_overview AS
 SELECT s.task_id,
    s.name,
    s.attempt,
    s.started_at,
    s.finished_at,
    (s.finished_at - s.started_at) AS ran,
        CASE
            WHEN (s.task_name = ANY (ARRAY( SELECT d.name
               FROM dogged.task_definitions d
              WHERE (d.redact <> '{}'::text[])))) THEN '"[redacted]"'::jsonb
            ELSE s.result
        END AS result,
    (NOT (EXISTS ( SELECT
           FROM dogged.task_steps later
          WHERE ((later.task_id = s.task_id) AND (((later.name = s.name) AND (later.attempt > s.attempt)) OR ((later.name IS NULL) AND (later.attempt >= s.attempt))))))) AS counts,
    ( SELECT w.name
           FROM dogged.workers w
          WHERE (w.id = s.worker_id)) AS worker,
    s.task_name
   FROM dogged.task_steps s
  WHERE (s.name IS NOT NULL);

COMMENT ON VIEW dogged.task_steps_overview IS 'One row for each step of a task that has ended. Query one task_id, or a short time by finished_at.';

COMMENT ON COLUMN dogged.task_steps_overview.task_id IS 'The task: tasks.id.';

COMMENT ON COLUMN dogged.task_steps_overview.name IS 'The name that the handler gave the step.';

COMMENT ON COLUMN dogged.task_steps_overview.attempt IS 'The attempt that ran the step.';

COMMENT ON COLUMN dogged.task_steps_overview.started_at IS 'When the step began.';

COMMENT ON COLUMN dogged.task_steps_overview.finished_at IS 'When the step ended.';

COMMENT ON COLUMN dogged.task_steps_overview.ran IS 'How long the step took.';

COMMENT ON COLUMN dogged.task_steps_overview.result IS 'What the step gave, as JSON; "[redacted]" if the task''s definition hides anything of args or results.';

COMMENT ON COLUMN dogged.task_steps_overview.counts IS 'Whether a later attempt gets this result. False: a later attempt has run the step again, or the task was replayed since.';

COMMENT ON COLUMN dogged.task_steps_overview.worker IS 'The name of the worker that ran the step.';

COMMENT ON COLUMN dogged.task_steps_overview.task_name IS 'The task''s name.';

CREATE VIEW dogged.task_timeline AS
 WITH attempts AS NOT MATERIALIZED (
         SELECT a.task_id,
            a.attempt,
            a.name,
            a.queue,
            a.outcome,
            a.worker_id,
            a.claimed_at,
            a.started_at,
            a.finished_at,
            a.error_code,
            a.error_message,
            a.error_details,
            a.will_retry,
            a.next_retry_at,
            a.policy,
            a.backoff_ms,
            a.delay_ms,
            a.retry_after_ms,
            a.trace_context
           FROM dogged.task_attempts a
        UNION ALL
         SELECT t.id,
            t.attempt,
            t.name,
            t.queue,
            NULL::dogged.attempt_outcome,
            t.worker_id,
            t.claimed_at,
            NULL::timestamp with time zone,
            NULL::timestamp with time zone,
            NULL::text,
            NULL::text,
            NULL::jsonb,
            NULL::boolean,
            NULL::timestamp with time zone,
            NULL::text,
            NULL::bigint,
            NULL::bigint,
            NULL::bigint,
            t.trace_context
           FROM dogged.tasks_live t
          WHERE (t.status = 'running'::dogged.task_status)
        ), dated AS NOT MATERIALIZED (
         SELECT a.task_id,
            a.attempt,
            a.name,
            a.queue,
            a.outcome,
            a.worker_id,
            a.claimed_at,
            a.started_at,
            a.finished_at,
            a.error_code,
            a.error_message,
            a.error_details,
            a.will_retry,
            a.next_retry_at,
            a.policy,
            a.backoff_ms,
            a.delay_ms,
            a.retry_after_ms,
            a.trace_context,
            COALESCE(a.started_at, a.claimed_at) AS began_at,
                CASE
                    WHEN (a.attempt = 1) THEN ( SELECT t.run_at
                       FROM dogged.tasks t
                      WHERE ((t.id = a.task_id) AND ((a.finished_at IS NULL) OR (t.finished_at IS NULL) OR (t.finished_at >= a.finished_at)))
                     LIMIT 1)
                    ELSE COALESCE(( SELECT (COALESCE((c.details ->> 'due_at'::text), (c.details ->> 'run_at'::text)))::timestamp with time zone AS "coalesce"
                       FROM dogged.audit c
                      WHERE ((c.task_id = a.task_id) AND (c.action = ANY (ARRAY['replay'::text, 'reschedule'::text])) AND ((c.details -> 'attempts'::text) = to_jsonb((a.attempt - 1))))
                      ORDER BY c.id DESC
                     LIMIT 1), ( SELECT p.next_retry_at
                       FROM dogged.task_attempts p
                      WHERE ((p.task_id = a.task_id) AND (p.attempt = (a.attempt - 1)) AND (p.finished_at <= a.claimed_at))
                     LIMIT 1))
                END AS due_at
           FROM attempts a
        )
 SELECT d.task_id,
    d.attempt,
    d.name,
    d.queue,
    d.outcome,
    GREATEST((d.began_at - d.due_at), '00:00:00'::interval) AS waited,
    d.started_at,
    d.finished_at,
    (COALESCE(d.finished_at, now()) - d.began_at) AS ran,
    d.error_code,
    d.error_message,
    d.error_details,
    d.will_retry,
    d.next_retry_at,
    d.policy,
    d.backoff_ms,
    d.delay_ms,
    d.retry_after_ms,
    ( SELECT w.name
           FROM dogged.workers w
          WHERE (w.id = d.worker_id)) AS worker,
    d.trace_context,
    d.claimed_at,
    d.due_at
   FROM dated d;

COMMENT ON VIEW dogged.task_timeline IS 'One row for each attempt of a task: ended attempts, and the running attempt (its outcome is null). Query one task_id, or a short time by finished_at.';

COMMENT ON COLUMN dogged.task_timeline.task_id IS 'The task: tasks.id.';

COMMENT ON COLUMN dogged.task_timeline.attempt IS '1, 2, 3 … for the whole life of the task.';

COMMENT ON COLUMN dogged.task_timeline.name IS 'The task''s name.';

COMMENT ON COLUMN dogged.task_timeline.queue IS 'The queue that the task was in.';

COMMENT ON COLUMN dogged.task_timeline.outcome IS 'How the attempt ended: succeeded, failed, timed_out, cancelled, lost, interrupted or snoozed; null while the attempt runs.';

COMMENT ON COLUMN dogged.task_timeline.waited IS 'From due_at to the start: how long the attempt waited for a worker. Null where due_at is not known.';

COMMENT ON COLUMN dogged.task_timeline.started_at IS 'When the handler began; for a lost attempt, when the task was claimed.';

COMMENT ON COLUMN dogged.task_timeline.finished_at IS 'When the attempt ended; null while the attempt runs.';

COMMENT ON COLUMN dogged.task_timeline.ran IS 'How long the handler took. For a running attempt, the time since the task was claimed.';

COMMENT ON COLUMN dogged.task_timeline.error_code IS 'The error code; null unless the attempt failed, timed out, was cancelled or was lost.';

COMMENT ON COLUMN dogged.task_timeline.error_message IS 'The error message.';

COMMENT ON COLUMN dogged.task_timeline.error_details IS 'Details that the handler added to its error, as JSON.';

COMMENT ON COLUMN dogged.task_timeline.will_retry IS 'Whether another attempt was scheduled when this one ended.';

COMMENT ON COLUMN dogged.task_timeline.next_retry_at IS 'The time for which the next attempt was scheduled.';

COMMENT ON COLUMN dogged.task_timeline.policy IS 'The applied retry policy, as `dogged policy show` reads it.';

COMMENT ON COLUMN dogged.task_timeline.backoff_ms IS 'The delay by the policy, before jitter.';

COMMENT ON COLUMN dogged.task_timeline.delay_ms IS 'The delay after jitter.';

COMMENT ON COLUMN dogged.task_timeline.retry_after_ms IS 'The delay that the error gave, in place of the policy''s delay.';

COMMENT ON COLUMN dogged.task_timeline.worker IS 'The name of the worker that ran the attempt.';

COMMENT ON COLUMN dogged.task_timeline.trace_context IS 'The trace of the attempt, if its worker made it the root of one; else the task''s trace context, as the producer gave it.';

COMMENT ON COLUMN dogged.task_timeline.claimed_at IS 'When the worker claimed the task.';

COMMENT ON COLUMN dogged.task_timeline.due_at IS 'When the attempt was due: at run_at for the first attempt, at next_retry_at of the previous attempt for later ones. If the task was replayed or rescheduled since then, at the time set by the replay or reschedule.';

CREATE TABLE dogged.tasks_done_default (
    id bigint DEFAULT nextval('dogged.tasks_id_seq'::regclass) NOT NULL,
    status dogged.task_status DEFAULT 'pending'::dogged.task_status NOT NULL,
    queue text NOT NULL,
    name text NOT NULL,
    priority smallint DEFAULT 0 NOT NULL,
    args jsonb NOT NULL,
    enqueued_at timestamp with time zone DEFAULT now() NOT NULL,
    run_at timestamp with time zone DEFAULT now() NOT NULL,
    deferred boolean DEFAULT false NOT NULL,
    next_retry_at timestamp with time zone,
    attempt integer DEFAULT 0 NOT NULL,
    retry_count integer DEFAULT 0 NOT NULL,
    losses integer DEFAULT 0 NOT NULL,
    worker_id bigint,
    claimed_at timestamp with time zone,
    finished_at timestamp with time zone,
    result jsonb,
    error_code text,
    error_message text,
    trace_context text,
    ready_position bigint,
    expires_at timestamp with time zone,
    tags text[],
    parent_id bigint,
    args_version smallint,
    snoozes integer,
    unique_key text,
    cancel_requested_at timestamp with time zone,
    CONSTRAINT tasks_expires_at_check CHECK (isfinite(expires_at))
);

COMMENT ON TABLE dogged.tasks_done_default IS 'For days that have no partition yet; dogged.make_partitions moves its rows.';

COMMENT ON COLUMN dogged.tasks_done_default.id IS 'The task''s id, given out by enqueue, for the whole life of the task.';

COMMENT ON COLUMN dogged.tasks_done_default.status IS 'The task''s status, which decides in which partition the task is stored.';

COMMENT ON COLUMN dogged.tasks_done_default.queue IS 'The name of the task''s queue.';

COMMENT ON COLUMN dogged.tasks_done_default.name IS 'The task''s name, which workers declare with TASK_REGISTER.';

COMMENT ON COLUMN dogged.tasks_done_default.priority IS 'Lower priorities run first. Among equal priorities, the task that became ready first runs first.';

COMMENT ON COLUMN dogged.tasks_done_default.args IS 'The handler''s args, as JSON. Show args to people only through dogged.redacted(name, args).';

COMMENT ON COLUMN dogged.tasks_done_default.enqueued_at IS 'When the producer''s transaction began.';

COMMENT ON COLUMN dogged.tasks_done_default.run_at IS 'The first attempt does not begin before this time.';

COMMENT ON COLUMN dogged.tasks_done_default.deferred IS 'True while a pending task waits for run_at or next_retry_at. The task is then in the index of waiting tasks, and not in the index of ready tasks. A worker sets this to false when the task is due.';

COMMENT ON COLUMN dogged.tasks_done_default.next_retry_at IS 'The next attempt does not begin before this time. Set for a retry, or for a task that was deferred because its circuit is open or its queue''s retry budget is spent. The value stays while that attempt runs.';

COMMENT ON COLUMN dogged.tasks_done_default.attempt IS 'The number of attempts begun. While the task runs, the number of the current attempt.';

COMMENT ON COLUMN dogged.tasks_done_default.retry_count IS 'Retries spent; a lost, interrupted or snoozed attempt spends none.';

COMMENT ON COLUMN dogged.tasks_done_default.losses IS 'Attempts that ended because their worker died.';

COMMENT ON COLUMN dogged.tasks_done_default.worker_id IS 'The worker that holds the running task, or that ran the task last: workers.id.';

COMMENT ON COLUMN dogged.tasks_done_default.claimed_at IS 'When a worker last claimed the task.';

COMMENT ON COLUMN dogged.tasks_done_default.finished_at IS 'When the task ended; null while the task is pending or running.';

COMMENT ON COLUMN dogged.tasks_done_default.result IS 'The handler''s return value, as JSON; null unless the task succeeded.';

COMMENT ON COLUMN dogged.tasks_done_default.error_code IS 'The error code of the last failed attempt.';

COMMENT ON COLUMN dogged.tasks_done_default.error_message IS 'The error message of the last failed attempt.';

COMMENT ON COLUMN dogged.tasks_done_default.trace_context IS 'The trace context, as the producer gave it; copied to attempts that are no root of a trace.';

COMMENT ON COLUMN dogged.tasks_done_default.ready_position IS 'The task''s place among the ready tasks of its queue and priority; null: its id is its place. A task that fell due has a number from the sequence of the ids. A task that was released to run again at once has a number before all of those.';

COMMENT ON COLUMN dogged.tasks_done_default.expires_at IS 'No attempt begins after this time. A task that is still pending then ends as expired. Null: the task does not expire.';

COMMENT ON COLUMN dogged.tasks_done_default.tags IS 'Words that the producer gave the task, for people to find the task by; null: none.';

COMMENT ON COLUMN dogged.tasks_done_default.parent_id IS 'The parent: the task of the handler that enqueued this one, or the task that the producer named. Null: none. Retention may have dropped the parent.';

COMMENT ON COLUMN dogged.tasks_done_default.args_version IS 'The version of the args, as the producer''s key or call named it; null: 1. Only a worker that knows this version or a later one runs the task.';

COMMENT ON COLUMN dogged.tasks_done_default.snoozes IS 'Attempts that ended because the handler snoozed, since the task was enqueued or replayed; null: none.';

COMMENT ON COLUMN dogged.tasks_done_default.unique_key IS 'The key of a unique task (dogged.unique_keys), as the producer gave it, or the hash of the args that it covers; null: the task is not unique.';

COMMENT ON COLUMN dogged.tasks_done_default.cancel_requested_at IS 'When dogged.cancel was called while an attempt ran. The worker asks the handler to stop. Unless the attempt succeeds all the same, the task ends as cancelled.';

CREATE TABLE dogged.tasks_failed_default (
    id bigint DEFAULT nextval('dogged.tasks_id_seq'::regclass) NOT NULL,
    status dogged.task_status DEFAULT 'pending'::dogged.task_status NOT NULL,
    queue text NOT NULL,
    name text NOT NULL,
    priority smallint DEFAULT 0 NOT NULL,
    args jsonb NOT NULL,
    enqueued_at timestamp with time zone DEFAULT now() NOT NULL,
    run_at timestamp with time zone DEFAULT now() NOT NULL,
    deferred boolean DEFAULT false NOT NULL,
    next_retry_at timestamp with time zone,
    attempt integer DEFAULT 0 NOT NULL,
    retry_count integer DEFAULT 0 NOT NULL,
    losses integer DEFAULT 0 NOT NULL,
    worker_id bigint,
    claimed_at timestamp with time zone,
    finished_at timestamp with time zone,
    result jsonb,
    error_code text,
    error_message text,
    trace_context text,
    ready_position bigint,
    expires_at timestamp with time zone,
    tags text[],
    parent_id bigint,
    args_version smallint,
    snoozes integer,
    unique_key text,
    cancel_requested_at timestamp with time zone,
    CONSTRAINT tasks_expires_at_check CHECK (isfinite(expires_at))
);

COMMENT ON TABLE dogged.tasks_failed_default IS 'For days that have no partition yet; dogged.make_partitions moves its rows.';

COMMENT ON COLUMN dogged.tasks_failed_default.id IS 'The task''s id, given out by enqueue, for the whole life of the task.';

COMMENT ON COLUMN dogged.tasks_failed_default.status IS 'The task''s status, which decides in which partition the task is stored.';

COMMENT ON COLUMN dogged.tasks_failed_default.queue IS 'The name of the task''s queue.';

COMMENT ON COLUMN dogged.tasks_failed_default.name IS 'The task''s name, which workers declare with TASK_REGISTER.';

COMMENT ON COLUMN dogged.tasks_failed_default.priority IS 'Lower priorities run first. Among equal priorities, the task that became ready first runs first.';

COMMENT ON COLUMN dogged.tasks_failed_default.args IS 'The handler''s args, as JSON. Show args to people only through dogged.redacted(name, args).';

COMMENT ON COLUMN dogged.tasks_failed_default.enqueued_at IS 'When the producer''s transaction began.';

COMMENT ON COLUMN dogged.tasks_failed_default.run_at IS 'The first attempt does not begin before this time.';

COMMENT ON COLUMN dogged.tasks_failed_default.deferred IS 'True while a pending task waits for run_at or next_retry_at. The task is then in the index of waiting tasks, and not in the index of ready tasks. A worker sets this to false when the task is due.';

COMMENT ON COLUMN dogged.tasks_failed_default.next_retry_at IS 'The next attempt does not begin before this time. Set for a retry, or for a task that was deferred because its circuit is open or its queue''s retry budget is spent. The value stays while that attempt runs.';

COMMENT ON COLUMN dogged.tasks_failed_default.attempt IS 'The number of attempts begun. While the task runs, the number of the current attempt.';

COMMENT ON COLUMN dogged.tasks_failed_default.retry_count IS 'Retries spent; a lost, interrupted or snoozed attempt spends none.';

COMMENT ON COLUMN dogged.tasks_failed_default.losses IS 'Attempts that ended because their worker died.';

COMMENT ON COLUMN dogged.tasks_failed_default.worker_id IS 'The worker that holds the running task, or that ran the task last: workers.id.';

COMMENT ON COLUMN dogged.tasks_failed_default.claimed_at IS 'When a worker last claimed the task.';

COMMENT ON COLUMN dogged.tasks_failed_default.finished_at IS 'When the task ended; null while the task is pending or running.';

COMMENT ON COLUMN dogged.tasks_failed_default.result IS 'The handler''s return value, as JSON; null unless the task succeeded.';

COMMENT ON COLUMN dogged.tasks_failed_default.error_code IS 'The error code of the last failed attempt.';

COMMENT ON COLUMN dogged.tasks_failed_default.error_message IS 'The error message of the last failed attempt.';

COMMENT ON COLUMN dogged.tasks_failed_default.trace_context IS 'The trace context, as the producer gave it; copied to attempts that are no root of a trace.';

COMMENT ON COLUMN dogged.tasks_failed_default.ready_position IS 'The task''s place among the ready tasks of its queue and priority; null: its id is its place. A task that fell due has a number from the sequence of the ids. A task that was released to run again at once has a number before all of those.';

COMMENT ON COLUMN dogged.tasks_failed_default.expires_at IS 'No attempt begins after this time. A task that is still pending then ends as expired. Null: the task does not expire.';

COMMENT ON COLUMN dogged.tasks_failed_default.tags IS 'Words that the producer gave the task, for people to find the task by; null: none.';

COMMENT ON COLUMN dogged.tasks_failed_default.parent_id IS 'The parent: the task of the handler that enqueued this one, or the task that the producer named. Null: none. Retention may have dropped the parent.';

COMMENT ON COLUMN dogged.tasks_failed_default.args_version IS 'The version of the args, as the producer''s key or call named it; null: 1. Only a worker that knows this version or a later one runs the task.';

COMMENT ON COLUMN dogged.tasks_failed_default.snoozes IS 'Attempts that ended because the handler snoozed, since the task was enqueued or replayed; null: none.';

COMMENT ON COLUMN dogged.tasks_failed_default.unique_key IS 'The key of a unique task (dogged.unique_keys), as the producer gave it, or the hash of the args that it covers; null: the task is not unique.';

COMMENT ON COLUMN dogged.tasks_failed_default.cancel_requested_at IS 'When dogged.cancel was called while an attempt ran. The worker asks the handler to stop. Unless the attempt succeeds all the same, the task ends as cancelled.';

CREATE VIEW dogged.worker_stats AS
 SELECT w.id,
    w.name,
    dogged.worker_state(w.lease_until, w.stop_began_at, w.lease_ended_at, w.stopped_at) AS state,
        CASE
            WHEN ((w.stopped_at IS NULL) AND (w.lease_ended_at IS NULL)) THEN GREATEST((w.lease_until - now()), '00:00:00'::interval)
            ELSE NULL::interval
        END AS lease_left,
    ( SELECT count(*) AS count
           FROM dogged.tasks_live t
          WHERE ((t.id = ANY (ARRAY( SELECT unnest(c.task_ids) AS unnest
                   FROM dogged.claims c
                  WHERE (c.worker_id = w.id)))) AND (t.worker_id = w.id) AND (t.status = 'running'::dogged.task_status))) AS running,
    COALESCE(r.attempts, (0)::bigint) AS attempts,
    COALESCE(r.failed, (0)::bigint) AS failed,
    w.fenced,
    w.abandoned_threads,
    w.asleep,
    w.queues,
    w.task_names,
    w.host,
    w.pid,
    w.version,
    w.started_at,
    w.heartbeat_at,
    w.lease_until,
    w.lease_ended_at,
    w.rescued_at,
    w.stopped_at,
    w.clock_ahead_ms,
    w.stop_began_at
   FROM (dogged.workers w
     LEFT JOIN ( SELECT a.worker_id,
            count(*) AS attempts,
            count(*) FILTER (WHERE (a.outcome = ANY (ARRAY['failed'::dogged.attempt_outcome, 'timed_out'::dogged.attempt_outcome]))) AS failed
           FROM dogged.task_attempts a
          WHERE (a.finished_at >= (now() - '00:05:00'::interval))
          GROUP BY a.worker_id) r ON ((r.worker_id = w.id)))
  WHERE (COALESCE(w.stopped_at, w.lease_ended_at, now()) > (now() - '1 day'::interval));

COMMENT ON VIEW dogged.worker_stats IS 'One row for each run of a worker that has not ended, or ended in the last day. Attempts are those of the last five minutes. `dogged workers` shows the same.';

COMMENT ON COLUMN dogged.worker_stats.id IS 'The worker: workers.id.';

COMMENT ON COLUMN dogged.worker_stats.name IS 'The worker''s name.';

COMMENT ON COLUMN dogged.worker_stats.state IS 'live, stopping, lapsed, lost or stopped: see dogged.worker_state.';

COMMENT ON COLUMN dogged.worker_stats.lease_left IS 'How long until other workers may take its tasks; null if the worker is lost or stopped.';

COMMENT ON COLUMN dogged.worker_stats.running IS 'Tasks that the worker holds now.';

COMMENT ON COLUMN dogged.worker_stats.attempts IS 'Attempts of the worker that ended in the last five minutes.';

COMMENT ON COLUMN dogged.worker_stats.failed IS 'Attempts of these that failed or timed out.';

COMMENT ON COLUMN dogged.worker_stats.fenced IS 'Reports of the whole process that did not count because the worker had lost the task. Do not add these numbers up over the runs of a process.';

COMMENT ON COLUMN dogged.worker_stats.abandoned_threads IS 'Threads whose handler did not end when it was asked to stop.';

COMMENT ON COLUMN dogged.worker_stats.asleep IS 'Whether the worker waits for a notification.';

COMMENT ON COLUMN dogged.worker_stats.queues IS 'Concurrency by queue name.';

COMMENT ON COLUMN dogged.worker_stats.task_names IS 'The names of the tasks that the worker knows.';

COMMENT ON COLUMN dogged.worker_stats.host IS 'The host on which the worker runs.';

COMMENT ON COLUMN dogged.worker_stats.pid IS 'The worker''s process id.';

COMMENT ON COLUMN dogged.worker_stats.version IS 'The version of dogged that the worker was built with.';

COMMENT ON COLUMN dogged.worker_stats.started_at IS 'When this run began.';

COMMENT ON COLUMN dogged.worker_stats.heartbeat_at IS 'When the worker last renewed its lease.';

COMMENT ON COLUMN dogged.worker_stats.lease_until IS 'When the lease lapses, unless the worker renews it.';

COMMENT ON COLUMN dogged.worker_stats.lease_ended_at IS 'When the lease was ended.';

COMMENT ON COLUMN dogged.worker_stats.rescued_at IS 'When no task was held under the ended lease any more.';

COMMENT ON COLUMN dogged.worker_stats.stopped_at IS 'When the worker stopped in order.';

COMMENT ON COLUMN dogged.worker_stats.clock_ahead_ms IS 'By how many milliseconds the clock of the worker''s host is ahead of the server''s clock; null before the first heartbeat.';

COMMENT ON COLUMN dogged.worker_stats.stop_began_at IS 'Since when the worker claims nothing more, because it stops: its running tasks may finish.';

ALTER TABLE dogged.workers ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME dogged.workers_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

ALTER TABLE ONLY dogged.events ATTACH PARTITION dogged.events_default DEFAULT;

ALTER TABLE ONLY dogged.schedule_ticks ATTACH PARTITION dogged.schedule_ticks_default DEFAULT;

ALTER TABLE ONLY dogged.task_attempts ATTACH PARTITION dogged.task_attempts_default DEFAULT;

ALTER TABLE ONLY dogged.task_steps ATTACH PARTITION dogged.task_steps_default DEFAULT;

ALTER TABLE ONLY dogged.tasks ATTACH PARTITION dogged.tasks_done FOR VALUES IN ('succeeded', 'discarded', 'cancelled', 'expired');

ALTER TABLE ONLY dogged.tasks_done ATTACH PARTITION dogged.tasks_done_default DEFAULT;

ALTER TABLE ONLY dogged.tasks ATTACH PARTITION dogged.tasks_failed FOR VALUES IN ('failed');

ALTER TABLE ONLY dogged.tasks_failed ATTACH PARTITION dogged.tasks_failed_default DEFAULT;

ALTER TABLE ONLY dogged.tasks ATTACH PARTITION dogged.tasks_live FOR VALUES IN ('pending', 'running');

ALTER TABLE ONLY dogged.tasks ALTER COLUMN id SET DEFAULT nextval('dogged.tasks_id_seq'::regclass);

ALTER TABLE ONLY dogged.audit
    ADD CONSTRAINT audit_pkey PRIMARY KEY (id);

ALTER TABLE ONLY dogged.circuits
    ADD CONSTRAINT circuits_pkey PRIMARY KEY (name);

ALTER TABLE ONLY dogged.claims
    ADD CONSTRAINT claims_pkey PRIMARY KEY (worker_id, id);

ALTER TABLE ONLY dogged.locks
    ADD CONSTRAINT locks_pkey PRIMARY KEY (name);

ALTER TABLE ONLY dogged.producer_calls
    ADD CONSTRAINT producer_calls_pkey PRIMARY KEY (producer);

ALTER TABLE ONLY dogged.queue_depths
    ADD CONSTRAINT queue_depths_pkey PRIMARY KEY (queue);

ALTER TABLE ONLY dogged.queues
    ADD CONSTRAINT queues_pkey PRIMARY KEY (name);

ALTER TABLE ONLY dogged.schedule_ticks
    ADD CONSTRAINT schedule_ticks_pkey PRIMARY KEY (schedule_id, scheduled_at);

ALTER TABLE ONLY dogged.schedule_ticks_default
    ADD CONSTRAINT schedule_ticks_default_pkey PRIMARY KEY (schedule_id, scheduled_at);

ALTER TABLE ONLY dogged.schedules
    ADD CONSTRAINT schedules_name_key UNIQUE (name);

ALTER TABLE ONLY dogged.schedules
    ADD CONSTRAINT schedules_pkey PRIMARY KEY (id);

ALTER TABLE ONLY dogged.schema_files
    ADD CONSTRAINT schema_files_pkey PRIMARY KEY (name);

ALTER TABLE ONLY dogged.schema_migrations
    ADD CONSTRAINT schema_migrations_pkey PRIMARY KEY (version);

ALTER TABLE ONLY dogged.settings
    ADD CONSTRAINT settings_pkey PRIMARY KEY (only_row);

ALTER TABLE ONLY dogged.task_checkpoints
    ADD CONSTRAINT task_checkpoints_pkey PRIMARY KEY (task_id, name);

ALTER TABLE ONLY dogged.task_definitions
    ADD CONSTRAINT task_definitions_pkey PRIMARY KEY (name);

ALTER TABLE ONLY dogged.task_progress
    ADD CONSTRAINT task_progress_pkey PRIMARY KEY (task_id);

ALTER TABLE ONLY dogged.task_waits
    ADD CONSTRAINT task_waits_pkey PRIMARY KEY (task_id, name);

ALTER TABLE ONLY dogged.tasks_live
    ADD CONSTRAINT tasks_live_pkey PRIMARY KEY (id);

ALTER TABLE ONLY dogged.unique_keys
    ADD CONSTRAINT unique_keys_pkey PRIMARY KEY (name, unique_key);

ALTER TABLE ONLY dogged.workers
    ADD CONSTRAINT workers_pkey PRIMARY KEY (id);

CREATE INDEX audit_task ON dogged.audit USING btree (task_id, id) WHERE (task_id IS NOT NULL);

CREATE INDEX events_name ON ONLY dogged.events USING btree (name, emitted_at DESC);

CREATE INDEX events_default_name_emitted_at_idx ON dogged.events_default USING btree (name, emitted_at DESC);

CREATE INDEX queues_limited ON dogged.queues USING btree (name) WHERE (max_depth IS NOT NULL);

CREATE INDEX schedule_declarations_name ON dogged.schedule_declarations USING btree (name);

CREATE INDEX schedule_ticks_decided ON ONLY dogged.schedule_ticks USING btree (decided_at);

CREATE INDEX schedule_ticks_default_decided_at_idx ON dogged.schedule_ticks_default USING btree (decided_at);

CREATE INDEX schedule_ticks_waiting ON ONLY dogged.schedule_ticks USING btree (schedule_id, scheduled_at) WHERE (outcome = 'waiting'::dogged.tick_outcome);

CREATE INDEX schedule_ticks_default_schedule_id_scheduled_at_idx ON dogged.schedule_ticks_default USING btree (schedule_id, scheduled_at) WHERE (outcome = 'waiting'::dogged.tick_outcome);

CREATE INDEX schedule_ticks_task ON ONLY dogged.schedule_ticks USING btree (task_id) WHERE (task_id IS NOT NULL);

CREATE INDEX schedule_ticks_default_task_id_idx ON dogged.schedule_ticks_default USING btree (task_id) WHERE (task_id IS NOT NULL);

CREATE INDEX schedules_due ON dogged.schedules USING btree (fires_at) WHERE (fires_at IS NOT NULL);

CREATE INDEX task_attempts_finished_at ON ONLY dogged.task_attempts USING brin (finished_at);

CREATE INDEX task_attempts_default_finished_at_idx ON dogged.task_attempts_default USING brin (finished_at);

CREATE INDEX task_attempts_task ON ONLY dogged.task_attempts USING btree (task_id, attempt);

CREATE INDEX task_attempts_default_task_id_attempt_idx ON dogged.task_attempts_default USING btree (task_id, attempt);

CREATE INDEX task_steps_task ON ONLY dogged.task_steps USING btree (task_id, name);

CREATE INDEX task_steps_default_task_id_name_idx ON dogged.task_steps_default USING btree (task_id, name);

CREATE INDEX task_waits_event ON dogged.task_waits USING btree (name) WHERE (for_event AND (arrived_at IS NULL));

CREATE INDEX tasks_done_children ON ONLY dogged.tasks_done USING btree (parent_id, id) WHERE (parent_id IS NOT NULL);

CREATE INDEX tasks_done_crossed_days ON ONLY dogged.tasks_done USING btree (enqueued_at, finished_at) WHERE ((attempt > 0) AND ((attempt > 1) OR (status <> 'succeeded'::dogged.task_status)) AND (((finished_at AT TIME ZONE 'UTC'::text))::date > ((enqueued_at AT TIME ZONE 'UTC'::text))::date));

CREATE INDEX tasks_done_default_enqueued_at_finished_at_idx ON dogged.tasks_done_default USING btree (enqueued_at, finished_at) WHERE ((attempt > 0) AND ((attempt > 1) OR (status <> 'succeeded'::dogged.task_status)) AND (((finished_at AT TIME ZONE 'UTC'::text))::date > ((enqueued_at AT TIME ZONE 'UTC'::text))::date));

CREATE INDEX tasks_done_finished_at ON ONLY dogged.tasks_done USING brin (finished_at);

CREATE INDEX tasks_done_default_finished_at_idx ON dogged.tasks_done_default USING brin (finished_at);

CREATE INDEX tasks_done_id ON ONLY dogged.tasks_done USING btree (id);

CREATE INDEX tasks_done_default_id_idx ON dogged.tasks_done_default USING btree (id);

CREATE INDEX tasks_done_default_parent_id_id_idx ON dogged.tasks_done_default USING btree (parent_id, id) WHERE (parent_id IS NOT NULL);

CREATE INDEX tasks_failed_children ON ONLY dogged.tasks_failed USING btree (parent_id, id) WHERE (parent_id IS NOT NULL);

CREATE INDEX tasks_failed_error_code ON ONLY dogged.tasks_failed USING btree (error_code, finished_at, id);

CREATE INDEX tasks_failed_default_error_code_finished_at_id_idx ON dogged.tasks_failed_default USING btree (error_code, finished_at, id);

CREATE INDEX tasks_failed_finished_at ON ONLY dogged.tasks_failed USING btree (finished_at, id);

CREATE INDEX tasks_failed_default_finished_at_id_idx ON dogged.tasks_failed_default USING btree (finished_at, id);

CREATE INDEX tasks_failed_id ON ONLY dogged.tasks_failed USING btree (id);

CREATE INDEX tasks_failed_default_id_idx ON dogged.tasks_failed_default USING btree (id);

CREATE INDEX tasks_failed_name ON ONLY dogged.tasks_failed USING btree (name, finished_at, id);

CREATE INDEX tasks_failed_default_name_finished_at_id_idx ON dogged.tasks_failed_default USING btree (name, finished_at, id);

CREATE INDEX tasks_failed_default_parent_id_id_idx ON dogged.tasks_failed_default USING btree (parent_id, id) WHERE (parent_id IS NOT NULL);

CREATE INDEX tasks_failed_queue ON ONLY dogged.tasks_failed USING btree (queue, finished_at, id);

CREATE INDEX tasks_failed_default_queue_finished_at_id_idx ON dogged.tasks_failed_default USING btree (queue, finished_at, id);

CREATE INDEX tasks_failed_tags ON ONLY dogged.tasks_failed USING gin (tags) WHERE (tags IS NOT NULL);

CREATE INDEX tasks_failed_default_tags_idx ON dogged.tasks_failed_default USING gin (tags) WHERE (tags IS NOT NULL);

CREATE INDEX tasks_live_cancelling ON dogged.tasks_live USING btree (id) WHERE (cancel_requested_at IS NOT NULL);

CREATE INDEX tasks_live_children ON dogged.tasks_live USING btree (parent_id, id) WHERE (parent_id IS NOT NULL);

CREATE INDEX tasks_live_expiring ON dogged.tasks_live USING btree (expires_at) WHERE (expires_at IS NOT NULL);

CREATE INDEX tasks_live_ready ON dogged.tasks_live USING btree (hashtext(queue), dogged.place(priority, ready_position, id)) WHERE (NOT deferred);

CREATE INDEX tasks_live_waiting ON dogged.tasks_live USING btree (hashtext(queue), COALESCE(next_retry_at, run_at)) WHERE deferred;

CREATE INDEX workers_asleep ON dogged.workers USING btree (id) WHERE asleep;

CREATE INDEX workers_lease ON dogged.workers USING btree (id) WHERE (lease_ended_at IS NULL);

CREATE UNIQUE INDEX workers_name ON dogged.workers USING btree (name) WHERE ((lease_ended_at IS NULL) AND (stopped_at IS NULL));

CREATE INDEX workers_to_rescue ON dogged.workers USING btree (id) WHERE ((lease_ended_at IS NOT NULL) AND (rescued_at IS NULL));

ALTER INDEX dogged.events_name ATTACH PARTITION dogged.events_default_name_emitted_at_idx;

ALTER INDEX dogged.schedule_ticks_decided ATTACH PARTITION dogged.schedule_ticks_default_decided_at_idx;

ALTER INDEX dogged.schedule_ticks_pkey ATTACH PARTITION dogged.schedule_ticks_default_pkey;

ALTER INDEX dogged.schedule_ticks_waiting ATTACH PARTITION dogged.schedule_ticks_default_schedule_id_scheduled_at_idx;

ALTER INDEX dogged.schedule_ticks_task ATTACH PARTITION dogged.schedule_ticks_default_task_id_idx;

ALTER INDEX dogged.task_attempts_finished_at ATTACH PARTITION dogged.task_attempts_default_finished_at_idx;

ALTER INDEX dogged.task_attempts_task ATTACH PARTITION dogged.task_attempts_default_task_id_attempt_idx;

ALTER INDEX dogged.task_steps_task ATTACH PARTITION dogged.task_steps_default_task_id_name_idx;

ALTER INDEX dogged.tasks_done_crossed_days ATTACH PARTITION dogged.tasks_done_default_enqueued_at_finished_at_idx;

ALTER INDEX dogged.tasks_done_finished_at ATTACH PARTITION dogged.tasks_done_default_finished_at_idx;

ALTER INDEX dogged.tasks_done_id ATTACH PARTITION dogged.tasks_done_default_id_idx;

ALTER INDEX dogged.tasks_done_children ATTACH PARTITION dogged.tasks_done_default_parent_id_id_idx;

ALTER INDEX dogged.tasks_failed_error_code ATTACH PARTITION dogged.tasks_failed_default_error_code_finished_at_id_idx;

ALTER INDEX dogged.tasks_failed_finished_at ATTACH PARTITION dogged.tasks_failed_default_finished_at_id_idx;

ALTER INDEX dogged.tasks_failed_id ATTACH PARTITION dogged.tasks_failed_default_id_idx;

ALTER INDEX dogged.tasks_failed_name ATTACH PARTITION dogged.tasks_failed_default_name_finished_at_id_idx;

ALTER INDEX dogged.tasks_failed_children ATTACH PARTITION dogged.tasks_failed_default_parent_id_id_idx;

ALTER INDEX dogged.tasks_failed_queue ATTACH PARTITION dogged.tasks_failed_default_queue_finished_at_id_idx;

ALTER INDEX dogged.tasks_failed_tags ATTACH PARTITION dogged.tasks_failed_default_tags_idx;

CREATE TRIGGER audit_settings AFTER UPDATE ON dogged.settings FOR EACH ROW WHEN (((to_jsonb(old.*) - 'role_prefix'::text) IS DISTINCT FROM (to_jsonb(new.*) - 'role_prefix'::text))) EXECUTE FUNCTION dogged.audit_settings();

CREATE TRIGGER prepare_to_count AFTER INSERT OR UPDATE OF max_depth ON dogged.queues FOR EACH ROW WHEN ((new.max_depth IS NOT NULL)) EXECUTE FUNCTION dogged.prepare_to_count();

CREATE TRIGGER refuse_bad_retention BEFORE INSERT OR UPDATE ON dogged.settings FOR EACH ROW EXECUTE FUNCTION dogged.refuse_bad_retention();

CREATE TRIGGER refuse_change BEFORE DELETE OR UPDATE OR TRUNCATE ON dogged.audit FOR EACH STATEMENT EXECUTE FUNCTION dogged.refuse_change_of_audit();

CREATE TRIGGER refuse_change BEFORE DELETE OR UPDATE ON dogged.task_attempts FOR EACH ROW EXECUTE FUNCTION dogged.refuse_change_of_history();

CREATE TRIGGER refuse_change BEFORE DELETE OR UPDATE ON dogged.task_steps FOR EACH ROW EXECUTE FUNCTION dogged.refuse_change_of_history();

CREATE TRIGGER refuse_to_forget BEFORE DELETE ON dogged.workers FOR EACH ROW EXECUTE FUNCTION dogged.refuse_to_forget_worker();

CREATE TRIGGER refuse_truncate BEFORE TRUNCATE ON dogged.task_attempts FOR EACH STATEMENT EXECUTE FUNCTION dogged.refuse_change_of_history();

CREATE TRIGGER refuse_truncate BEFORE TRUNCATE ON dogged.task_attempts_default FOR EACH STATEMENT EXECUTE FUNCTION dogged.refuse_change_of_history();

CREATE TRIGGER refuse_truncate BEFORE TRUNCATE ON dogged.task_steps FOR EACH STATEMENT EXECUTE FUNCTION dogged.refuse_change_of_history();

CREATE TRIGGER refuse_truncate BEFORE TRUNCATE ON dogged.task_steps_default FOR EACH STATEMENT EXECUTE FUNCTION dogged.refuse_change_of_history();

CREATE TRIGGER tell_workers AFTER DELETE OR UPDATE ON dogged.queues FOR EACH STATEMENT EXECUTE FUNCTION dogged.tell_of_queues();

CREATE TRIGGER tell_workers AFTER INSERT OR UPDATE OF spec, time_zone, jitter_ms, paused_at ON dogged.schedules FOR EACH STATEMENT EXECUTE FUNCTION dogged.tell_of_schedules();

ALTER TABLE ONLY dogged.queue_depths
    ADD CONSTRAINT queue_depths_queue_fkey FOREIGN KEY (queue) REFERENCES dogged.queues(name) ON DELETE CASCADE;
