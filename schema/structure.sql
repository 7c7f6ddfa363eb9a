-- Made by scripts/structure on PostgreSQL 15 from migrations/ and schema/; edit those and run it again.

CREATE SCHEMA dogged;

CREATE TYPE dogged.attempt_outcome AS ENUM (
    'succeeded',
    'failed',
    'timed_out',
    'cancelled',
    'lost',
    'interrupted'
);

CREATE TYPE dogged.circuit_state AS ENUM (
    'closed',
    'open',
    'half_open'
);

CREATE TYPE dogged.task_status AS ENUM (
    'pending',
    'running',
    'succeeded',
    'failed',
    'discarded',
    'cancelled',
    'expired'
);

CREATE FUNCTION dogged.cancel(id bigint) RETURNS text
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
  task record;
begin
  if cancel.id is null then
    raise exception 'the id of the task to cancel is null'
      using hint = 'Give the id that enqueue gave. Nothing was cancelled.', errcode = 'invalid_parameter_value';
  end if;

  -- Waits for a claim or a completion under way: then the task runs, or has left the live table. Each statement below has
  -- a snapshot of its own, which shows what was waited for. Where it has not (REPEATABLE READ, SERIALIZABLE), PostgreSQL
  -- refuses the lock (40001).
  select t.status, t.worker_id into task from dogged.tasks_live t where t.id = cancel.id for update;

  if not found then
    return case when exists (select from dogged.tasks t where t.id = cancel.id) then 'ended' else 'not_found' end;
  end if;

  if task.status = 'running' then
    update dogged.tasks_live t set cancel_requested_at = clock_timestamp()
     where t.id = cancel.id and t.cancel_requested_at is null;
    -- Also when it was requested before: a second call is how one insists where a notification was lost.
    perform pg_notify('dogged.cancel', task.worker_id::text);
    return 'requested';
  end if;

  -- error_code and error_message stay those of the last attempt that failed: a retry that will not be is no error.
  with removed as (
    delete from dogged.tasks_live t where t.id = cancel.id returning t.*
  )
  insert into dogged.tasks (id, status, queue, name, priority, args, enqueued_at, run_at, attempt, retry_count, losses,
                            worker_id, claimed_at, finished_at, error_code, error_message, trace_context,
                            cancel_requested_at)
  select r.id, 'cancelled', r.queue, r.name, r.priority, r.args, r.enqueued_at, r.run_at, r.attempt, r.retry_count, r.losses,
         r.worker_id, r.claimed_at, clock_timestamp(), r.error_code, r.error_message, r.trace_context,
         r.cancel_requested_at
    from removed r;
  return 'cancelled';
end $$;

COMMENT ON FUNCTION dogged.cancel(id bigint) IS 'Cancels a task, in the caller''s transaction. Gives cancelled: it was pending and has ended; requested: it runs, its handler is asked to stop once this transaction commits, and unless it succeeds the task ends as cancelled; ended: it had ended before, nothing has changed; not_found: there is no such task, or no longer.';

CREATE FUNCTION dogged.complete_in(task_id bigint, attempt integer, worker_id bigint, result jsonb, ran_us bigint) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
#variable_conflict use_column
declare
  -- Not now(), as elsewhere: the caller's transaction may have begun long before the handler ended.
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
    insert into dogged.tasks (id, status, queue, name, priority, args, enqueued_at, run_at, attempt, retry_count, losses,
                              worker_id, claimed_at, finished_at, result, error_code, error_message, trace_context,
                              cancel_requested_at)
    select id, 'succeeded', queue, name, priority, args, enqueued_at, run_at, attempt, retry_count, losses, worker_id,
           claimed_at, ended_at, complete_in.result, null, null, trace_context, cancel_requested_at
      from held
  )
  insert into dogged.task_attempts (task_id, attempt, name, queue, outcome, worker_id, claimed_at, started_at,
                                    finished_at, will_retry, trace_context)
  select id, attempt, name, queue, 'succeeded', worker_id, claimed_at, greatest(claimed_at, began_at),
         ended_at, false, trace_context
    from held;
  if not found then
    perform dogged.refuse_completion(complete_in.task_id, complete_in.attempt, complete_in.worker_id);
  end if;
end $$;

COMMENT ON FUNCTION dogged.complete_in(task_id bigint, attempt integer, worker_id bigint, result jsonb, ran_us bigint) IS 'Ends a running attempt as succeeded in the caller''s transaction; ran_us: for how long its handler has run. Raises LE001 where the task is not held under this attempt and worker any more: then nothing of the transaction commits.';

CREATE FUNCTION dogged.create_queue(name text) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $_$
begin
  if coalesce(octet_length(create_queue.name) > 128 or create_queue.name !~ '^[A-Za-z0-9][A-Za-z0-9._:/-]*$', true) then
    raise exception 'the queue name "%" is not 1 to 128 of A-Z a-z 0-9 . _ : / - beginning with a letter or a digit',
      left(create_queue.name, 128) using errcode = 'invalid_parameter_value';
  end if;
  insert into dogged.queues (name) values (create_queue.name) on conflict do nothing;
end $_$;

COMMENT ON FUNCTION dogged.create_queue(name text) IS 'Makes a queue, so that tasks can be enqueued to it; harmless if it is there.';

CREATE FUNCTION dogged.enqueue(name text, args jsonb DEFAULT '{}'::jsonb, queue text DEFAULT NULL::text, run_at timestamp with time zone DEFAULT NULL::timestamp with time zone, priority integer DEFAULT 0, trace_context text DEFAULT NULL::text) RETURNS bigint
    LANGUAGE plpgsql
    SET plan_cache_mode TO 'force_generic_plan'
    AS $$
#variable_conflict use_column
declare
  new_id pg_catalog.int8;
  queue_used pg_catalog.text;
begin
  perform pg_catalog.pg_current_xact_id();  -- as in enqueue_many
  insert into dogged.tasks_live (queue, name, args, run_at, deferred, priority, trace_context)
  select q.name, enqueue.name, enqueue.args, coalesce(enqueue.run_at, pg_catalog.now()),
         coalesce(enqueue.run_at operator(pg_catalog.>) pg_catalog.now(), false), coalesce(enqueue.priority, 0),
         enqueue.trace_context
    from dogged.settings s
    left join dogged.task_definitions d on d.name operator(pg_catalog.=) enqueue.name
    join dogged.queues q on q.name operator(pg_catalog.=) coalesce(enqueue.queue, d.queue, 'default')
   where dogged.is_sound_task(enqueue.name, d.name is not null, enqueue.args, s.max_args_bytes, enqueue.run_at,
                              enqueue.priority, enqueue.trace_context)
  returning id, queue into new_id, queue_used;

  if new_id is null then
    perform dogged.refuse_task(
      enqueue.name, enqueue.args,
      coalesce(enqueue.queue, (select d.queue from dogged.task_definitions d
                                where d.name operator(pg_catalog.=) enqueue.name), 'default'),
      enqueue.run_at, coalesce(enqueue.priority, 0), enqueue.trace_context);
  end if;

  if pg_catalog.current_setting('transaction_isolation') operator(pg_catalog.<>) 'read committed'
     or exists (select from dogged.workers w where w.asleep and w.queues operator(pg_catalog.?) queue_used) then
    perform pg_catalog.pg_notify('dogged.wake', queue_used);  -- as in enqueue_many
  end if;
  return new_id;
end $$;

COMMENT ON FUNCTION dogged.enqueue(name text, args jsonb, queue text, run_at timestamp with time zone, priority integer, trace_context text) IS 'Enqueues one task in the caller''s transaction and gives its id. queue: the one that the task''s definition names, or default. run_at: at once. priority: lower runs first. Errors say what to change; nothing is enqueued then.';

CREATE FUNCTION dogged.enqueue_many(names text[], args jsonb[], queues text[] DEFAULT NULL::text[], run_ats timestamp with time zone[] DEFAULT NULL::timestamp with time zone[], priorities integer[] DEFAULT NULL::integer[], trace_contexts text[] DEFAULT NULL::text[]) RETURNS SETOF bigint
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET plan_cache_mode TO 'force_generic_plan'
    SET enable_nestloop TO 'off'
    AS $$
#variable_conflict use_column
declare
  inserted bigint;
  bad record;
  queues_used text[];
begin
  if cardinality(names) is distinct from cardinality(args) then
    raise exception 'there are % names and % args; give one of each for a task',
      coalesce(cardinality(names), 0), coalesce(cardinality(args), 0) using errcode = 'invalid_parameter_value';
  end if;

  perform pg_current_xact_id();  -- before an id is taken: see src/sql/settle_watermarks.sql
  return query
    insert into dogged.tasks_live (queue, name, args, run_at, deferred, priority, trace_context)
    select q.name, t.name, t.args, coalesce(t.run_at, now()), coalesce(t.run_at > now(), false), coalesce(t.priority, 0),
           t.trace_context
      from unnest(names, enqueue_many.args, queues, run_ats, priorities, trace_contexts)
             with ordinality as t (name, args, queue, run_at, priority, trace_context, position)
      left join dogged.task_definitions d on d.name = t.name
      join dogged.queues q on q.name = coalesce(t.queue, d.queue, 'default')
     where dogged.is_sound_task(t.name, d.name is not null, t.args, (select s.max_args_bytes from dogged.settings s),
                                t.run_at, t.priority, t.trace_context)
     order by t.position
    returning id;
  get diagnostics inserted = row_count;

  if inserted <> greatest(cardinality(names), cardinality(queues), cardinality(run_ats), cardinality(priorities),
                          cardinality(trace_contexts)) then
    select t.*, coalesce(t.queue, d.queue, 'default') as queue_used into bad
      from unnest(names, enqueue_many.args, queues, run_ats, priorities, trace_contexts)
             with ordinality as t (name, args, queue, run_at, priority, trace_context, position)
      left join dogged.task_definitions d on d.name = t.name
      left join dogged.queues q on q.name = coalesce(t.queue, d.queue, 'default')
     where (q.name is not null
            and dogged.is_sound_task(t.name, d.name is not null, t.args, (select s.max_args_bytes from dogged.settings s),
                                     t.run_at, t.priority, t.trace_context)) is not true
     order by t.position
     limit 1;
    if not found then
      raise exception 'a queue, a definition or a setting was changed while tasks were enqueued'
        using hint = 'Nothing was enqueued: do it again.', errcode = 'serialization_failure';
    end if;
    perform dogged.refuse_task(bad.name, bad.args, bad.queue_used, bad.run_at, coalesce(bad.priority, 0), bad.trace_context);
  end if;

  -- After the insert, with a snapshot of its own: a worker that falls asleep meanwhile either sees the rows or waits for
  -- this transaction to end (fall_asleep.sql). An older snapshot cannot tell, so it wakes them in any case.
  if current_setting('transaction_isolation') <> 'read committed'
     or exists (select from dogged.workers w where w.asleep) then
    select array_agg(distinct coalesce(t.queue, d.queue, 'default')) into queues_used
      from unnest(names, queues) as t (name, queue) left join dogged.task_definitions d on d.name = t.name;
    if current_setting('transaction_isolation') <> 'read committed'
       or exists (select from dogged.workers w where w.asleep and w.queues ?| queues_used) then
      perform pg_notify('dogged.wake', case when cardinality(queues_used) = 1 then queues_used[1] else '' end);
    end if;
  end if;
end $$;

COMMENT ON FUNCTION dogged.enqueue_many(names text[], args jsonb[], queues text[], run_ats timestamp with time zone[], priorities integer[], trace_contexts text[]) IS 'Enqueues tasks in the caller''s transaction, all or none, and gives their ids in order. Element i of each array belongs to task i; an array or an element that is null means its default (see dogged.enqueue).';

CREATE FUNCTION dogged.is_sound_task(name text, is_known boolean, args jsonb, max_args_bytes integer, run_at timestamp with time zone, priority integer, trace_context text) RETURNS boolean
    LANGUAGE sql STABLE
    RETURN ((is_known OR ((name ~ '^[A-Za-z0-9][A-Za-z0-9._:/-]*$'::text) AND (octet_length(name) <= 128))) AND (octet_length((args)::text) <= max_args_bytes) AND ((run_at IS NULL) OR ((run_at >= (now() - '00:05:00'::interval)) AND (run_at <= (now() + '10 years'::interval)))) AND ((priority IS NULL) OR ((priority >= '-32768'::integer) AND (priority <= 32767))) AND ((trace_context IS NULL) OR (octet_length(trace_context) <= 512)));

COMMENT ON FUNCTION dogged.is_sound_task(name text, is_known boolean, args jsonb, max_args_bytes integer, run_at timestamp with time zone, priority integer, trace_context text) IS 'Whether enqueue takes a task, if its queue exists. is_known: a worker has declared the task, so its name is sound.';

CREATE FUNCTION dogged.make_partition(parent text, day date) RETURNS boolean
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET lock_timeout TO '500ms'
    AS $$
declare
  partition_name constant text := format('%s_%s', parent, to_char(day, 'YYYYMMDD'));
  from_time constant timestamptz := day::timestamp at time zone 'UTC';
  to_time constant timestamptz := (day + 1)::timestamp at time zone 'UTC';
begin
  if to_regclass('dogged.' || partition_name) is not null then
    return false;
  end if;
  -- A table of its own first, then attached: CREATE TABLE … PARTITION OF would lock the parent against everyone.
  execute format('create table dogged.%I (like dogged.%I including defaults including constraints including storage)',
                 partition_name, parent);
  execute format('lock table dogged.%I in access exclusive mode', parent || '_default');
  execute format('alter table dogged.%I disable trigger user', parent || '_default');
  execute format('with moved as (delete from dogged.%I where finished_at >= %L and finished_at < %L returning *)
                  insert into dogged.%I select * from moved',
                 parent || '_default', from_time, to_time, partition_name);
  execute format('alter table dogged.%I enable trigger user', parent || '_default');
  execute format('alter table dogged.%I attach partition dogged.%I for values from (%L) to (%L)',
                 parent, partition_name, from_time, to_time);
  if parent = 'task_attempts' then
    execute format('create trigger refuse_truncate before truncate on dogged.%I
                    execute function dogged.refuse_change_of_history()', partition_name);
  end if;
  return true;
end $$;

COMMENT ON FUNCTION dogged.make_partition(parent text, day date) IS 'Makes one day''s partition of task_attempts or tasks_done; false if it is there. Error lock_not_available if the default partition is in use for longer than 500 ms.';

CREATE FUNCTION dogged.make_partitions() RETURNS integer
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
  today constant date := (clock_timestamp() at time zone 'UTC')::date;
  made integer := 0;
  made_of_parent integer;
  parent text;
  offset_days integer;
begin
  if not pg_try_advisory_xact_lock(hashtextextended('dogged.make_partitions', 0)) then
    return 0;  -- another worker is at it
  end if;
  foreach parent in array array['task_attempts', 'tasks_done'] loop
    begin
      made_of_parent := 0;
      for offset_days in select generate_series(-1, partition_days_ahead) from dogged.settings loop
        made_of_parent := made_of_parent + dogged.make_partition(parent, today + offset_days)::integer;
      end loop;
      made := made + made_of_parent;
    exception when lock_not_available then
      null;  -- a reader is at work; every day of this table needs the same lock, so the next call makes them
    end;
  end loop;
  return made;
end $$;

COMMENT ON FUNCTION dogged.make_partitions() IS 'Makes the partitions of the coming days that are missing, and gives their number; 0 while another call is at it. Safe to call at any time.';

CREATE FUNCTION dogged.moment_ago(claimed_at timestamp with time zone, microseconds bigint) RETURNS timestamp with time zone
    LANGUAGE sql STABLE
    RETURN GREATEST(claimed_at, (now() - ((microseconds)::double precision * '00:00:00.000001'::interval)));

COMMENT ON FUNCTION dogged.moment_ago(claimed_at timestamp with time zone, microseconds bigint) IS 'now() less microseconds, but not before claimed_at: when something happened that a worker timed after its claim.';

CREATE FUNCTION dogged.note_call(producer uuid, call bigint, task_ids bigint[]) RETURNS bigint[]
    LANGUAGE plpgsql
    SET plan_cache_mode TO 'force_generic_plan'
    AS $$
begin
  if note_call.producer is null then return note_call.task_ids; end if;
  insert into dogged.producer_calls as last (producer, call, task_ids)
  values (note_call.producer, note_call.call, note_call.task_ids)
      on conflict on constraint producer_calls_pkey do update
     set call = excluded.call, task_ids = excluded.task_ids, called_at = pg_catalog.now()
   where last.call operator(pg_catalog.<) excluded.call;
  if not found then
    raise exception 'call % of producer % was made before', note_call.call, note_call.producer
      using hint = 'Nothing was enqueued: this is an older try, which arrived late.', errcode = 'unique_violation';
  end if;
  return note_call.task_ids;
end $$;

COMMENT ON FUNCTION dogged.note_call(producer uuid, call bigint, task_ids bigint[]) IS 'Notes what a producer''s call has enqueued, in the transaction that enqueues, and gives it back. An error where that call, or a later one, is on record: so a call that is repeated does not take effect twice. Without a producer nothing is noted.';

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
    cancel_requested_at timestamp with time zone
)
PARTITION BY LIST (status);

COMMENT ON TABLE dogged.tasks IS 'Every task, from enqueue to its end.';

COMMENT ON COLUMN dogged.tasks.priority IS 'Lower runs first; then what became ready first.';

COMMENT ON COLUMN dogged.tasks.run_at IS 'Not before this time for the first run.';

COMMENT ON COLUMN dogged.tasks.deferred IS 'True while a pending task waits for run_at or next_retry_at: it then stands in the index of waiting tasks and not in the ready one. A worker makes it false when the time has come.';

COMMENT ON COLUMN dogged.tasks.next_retry_at IS 'Not before this time for the next run: a retry, or one that was put off because its circuit is open.';

COMMENT ON COLUMN dogged.tasks.attempt IS 'Attempts begun. While running, the number of the current one.';

COMMENT ON COLUMN dogged.tasks.retry_count IS 'Retries spent; a lost or interrupted attempt spends none.';

COMMENT ON COLUMN dogged.tasks.losses IS 'Attempts that ended because their worker died.';

COMMENT ON COLUMN dogged.tasks.worker_id IS 'Who holds it while it runs, and who ran it last: workers.id.';

COMMENT ON COLUMN dogged.tasks.error_code IS 'Of the last attempt that failed.';

COMMENT ON COLUMN dogged.tasks.trace_context IS 'As the producer gave it, copied to every attempt.';

COMMENT ON COLUMN dogged.tasks.ready_position IS 'Its place among the ready tasks of its queue and priority; null: its id. A number from the sequence of the ids when it fell due; one before all of them when it was given back to run again at once.';

COMMENT ON COLUMN dogged.tasks.cancel_requested_at IS 'When dogged.cancel was called while an attempt ran. Its handler is asked to stop; unless it succeeds all the same, the task ends as cancelled.';

CREATE SEQUENCE dogged.tasks_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;

ALTER SEQUENCE dogged.tasks_id_seq OWNED BY dogged.tasks.id;

CREATE FUNCTION dogged.place_in_front() RETURNS bigint
    LANGUAGE sql
    RETURN (nextval('dogged.tasks_id_seq'::regclass) - '70368744177664'::bigint);

COMMENT ON FUNCTION dogged.place_in_front() IS 'A new ready_position before those of all tasks that were not given back.';

CREATE TABLE dogged.audit (
    id bigint NOT NULL,
    at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    actor text NOT NULL,
    application text NOT NULL,
    action text NOT NULL,
    task_id bigint,
    details jsonb DEFAULT '{}'::jsonb NOT NULL
);

COMMENT ON TABLE dogged.audit IS 'What people changed by hand: cancelled, replayed, rescheduled and purged tasks, paused queues, opened circuits. Append-only: UPDATE, DELETE and TRUNCATE are refused.';

COMMENT ON COLUMN dogged.audit.actor IS 'Who: the setting dogged.actor of the session (the dogged command sets it to user@host), else the database''s session_user.';

COMMENT ON COLUMN dogged.audit.application IS 'The session''s application_name.';

COMMENT ON COLUMN dogged.audit.action IS 'What was called: cancel, replay, purge, pause_queue …';

COMMENT ON COLUMN dogged.audit.task_id IS 'Of an action on one task; null for a queue or a circuit.';

COMMENT ON COLUMN dogged.audit.details IS 'What else the action was given, and what it replaced.';

CREATE FUNCTION dogged.record_audit(action text, task_id bigint DEFAULT NULL::bigint, details jsonb DEFAULT '{}'::jsonb) RETURNS void
    LANGUAGE sql
    BEGIN ATOMIC
 INSERT INTO dogged.audit (actor, application, action, task_id, details)
   VALUES (COALESCE(NULLIF(current_setting('dogged.actor'::text, true), ''::text), (SESSION_USER)::text), COALESCE(current_setting('application_name'::text, true), ''::text), record_audit.action, record_audit.task_id, COALESCE(record_audit.details, '{}'::jsonb));
END;

COMMENT ON FUNCTION dogged.record_audit(action text, task_id bigint, details jsonb) IS 'Writes a row of dogged.audit in the caller''s transaction.';

CREATE FUNCTION dogged.redacted(task_name text, document jsonb) RETURNS jsonb
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
  pointer text;
  path text[];
begin
  for pointer in select unnest(d.redact) from dogged.task_definitions d where d.name = redacted.task_name loop
    -- RFC 6901: ~1 is /, ~0 is ~, in this order.
    select coalesce(array_agg(replace(replace(token, '~1', '/'), '~0', '~') order by place), '{}') into path
      from unnest(string_to_array(substr(pointer, 2), '/')) with ordinality as tokens (token, place)
     where pointer <> '';
    if path = '{}' then
      return '"[redacted]"';
    elsif document #> path is not null then
      document := jsonb_set(document, path, '"[redacted]"', false);
    end if;
  end loop;
  return document;
end $$;

COMMENT ON FUNCTION dogged.redacted(task_name text, document jsonb) IS 'The document with "[redacted]" in place of what the JSON pointers in task_definitions.redact name.';

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
    AS $$
begin
  raise exception '% of % is refused: attempts are history and never change', tg_op, tg_relid::regclass
    using errcode = 'restrict_violation', hint = 'Retention drops partitions of whole days.';
end $$;

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

COMMENT ON FUNCTION dogged.refuse_completion(task_id bigint, attempt integer, worker_id bigint) IS 'Raises the error that says what has become of an attempt that complete_in cannot end.';

CREATE FUNCTION dogged.refuse_task(name text, args jsonb, queue text, run_at timestamp with time zone, priority integer, trace_context text) RETURNS void
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $_$
declare
  max_args_bytes constant integer := (select s.max_args_bytes from dogged.settings s);
  what constant text := format('task "%s"', left(refuse_task.name, 128));
  mistake text;
  remedy text := 'Nothing was enqueued.';
begin
  if refuse_task.name is null or refuse_task.name = '' then
    mistake := 'a task needs a name, and it is ' || case when refuse_task.name is null then 'null' else 'empty' end;
  elsif octet_length(refuse_task.name) > 128 then
    mistake := format('the task name "%s…" has %s bytes; the limit is 128', left(refuse_task.name, 40),
                      octet_length(refuse_task.name));
  elsif refuse_task.name !~ '^[A-Za-z0-9][A-Za-z0-9._:/-]*$' then
    mistake := format('the task name "%s" is not made of A-Z a-z 0-9 . _ : / - beginning with a letter or a digit',
                      refuse_task.name);
  elsif refuse_task.args is null then
    mistake := what || ': args is null';
    remedy := 'Leave args out for {}, or give ''null''::jsonb for a JSON null.';
  elsif octet_length(refuse_task.args::text) > max_args_bytes then
    mistake := format('%s: its args have %s bytes as JSON; the limit is %s', what,
                      octet_length(refuse_task.args::text), max_args_bytes);
    remedy := 'Keep large data elsewhere and pass a reference, or raise dogged.settings.max_args_bytes.';
  elsif not exists (select from dogged.queues q where q.name = refuse_task.queue) then
    mistake := format('%s: the queue "%s" does not exist', what, left(refuse_task.queue, 128));
    remedy := format('There are: %s. A worker creates the queues that it serves; dogged.create_queue(name) creates one now.',
                     (select string_agg(q.name, ', ' order by q.name)
                        from (select * from dogged.queues order by name limit 20) q));
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
  else
    raise exception 'a queue, a definition or a setting was changed while % was enqueued', what
      using hint = 'Nothing was enqueued: do it again.', errcode = 'serialization_failure';
  end if;
  raise exception using message = mistake, hint = remedy, errcode = 'invalid_parameter_value';
end $_$;

COMMENT ON FUNCTION dogged.refuse_task(name text, args jsonb, queue text, run_at timestamp with time zone, priority integer, trace_context text) IS 'Raises the error that says what is wrong with a task that enqueue refuses.';

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

COMMENT ON FUNCTION dogged.refuse_to_forget_worker() IS 'Keeps a worker''s row for as long as tasks run under it.';

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

COMMENT ON TABLE dogged.circuits IS 'Circuit breakers (.circuit of a task). While one is open, tasks of that circuit do not run: they are put off, and no attempt is spent. `dogged circuits` opens and closes one by hand; its settings are those of the worker that started last.';

COMMENT ON COLUMN dogged.circuits.failure_threshold IS 'So many attempts that failed with a code that their task retries, one after another, open it.';

COMMENT ON COLUMN dogged.circuits.recovery_timeout_ms IS 'So long nothing runs then; after that it is half-open.';

COMMENT ON COLUMN dogged.circuits.success_threshold IS 'So many successes close a half-open circuit, and so many tasks run at once to find out.';

COMMENT ON COLUMN dogged.circuits.failures IS 'In a row, while it is closed.';

COMMENT ON COLUMN dogged.circuits.successes IS 'Of probes, while it is half-open.';

COMMENT ON COLUMN dogged.circuits.probes IS 'Tasks that run to find out, while it is half-open.';

COMMENT ON COLUMN dogged.circuits.is_forced IS 'Opened by hand: it stays open until it is closed by hand.';

COMMENT ON COLUMN dogged.circuits.since IS 'Open: since when; half-open: when the last probe was let through.';

COMMENT ON COLUMN dogged.circuits.generation IS 'What attempts of an earlier state report does not count.';

COMMENT ON COLUMN dogged.circuits.changed_at IS 'When its state changed last.';

CREATE TABLE dogged.claims (
    worker_id bigint NOT NULL,
    id bigint NOT NULL,
    task_ids bigint[] NOT NULL
)
WITH (toast_tuple_target='8160', autovacuum_vacuum_scale_factor='0', autovacuum_vacuum_threshold='1000', autovacuum_vacuum_cost_delay='0');
ALTER TABLE ONLY dogged.claims ALTER COLUMN task_ids SET STORAGE MAIN;

COMMENT ON TABLE dogged.claims IS 'What workers have claimed. Every task that runs stands in an entry of its worker; an entry may also name tasks that the worker does not hold, or no longer.';

ALTER TABLE dogged.claims ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME dogged.claims_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

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
    cancel_requested_at timestamp with time zone
);

CREATE VIEW dogged.dead_letters AS
 SELECT tasks_failed.id,
    tasks_failed.name,
    tasks_failed.queue,
    tasks_failed.error_code,
    tasks_failed.error_message,
    tasks_failed.attempt AS attempts,
    tasks_failed.retry_count,
    tasks_failed.losses,
    tasks_failed.enqueued_at,
    tasks_failed.finished_at AS failed_at,
    tasks_failed.args,
    tasks_failed.trace_context
   FROM dogged.tasks_failed;

COMMENT ON VIEW dogged.dead_letters IS 'Tasks that ended failed: what went wrong last, and how often they were tried.';

CREATE TABLE dogged.producer_calls (
    producer uuid NOT NULL,
    call bigint NOT NULL,
    task_ids bigint[] NOT NULL,
    called_at timestamp with time zone DEFAULT now() NOT NULL
)
WITH (fillfactor='50');

COMMENT ON TABLE dogged.producer_calls IS 'The last call of each connected client (dogged::Client), with the ids of the tasks that it enqueued. Producer and call are the idempotency key of an enqueue that is repeated because its answer was lost. Rows of two days ago are removed.';

COMMENT ON COLUMN dogged.producer_calls.producer IS 'Drawn at random by the client when it is made.';

COMMENT ON COLUMN dogged.producer_calls.call IS 'Its calls, counted from 1.';

CREATE TABLE dogged.queues (
    name text NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT queues_name_check CHECK (((octet_length(name) <= 128) AND (name ~ '^[A-Za-z0-9][A-Za-z0-9._:/-]*$'::text)))
);

COMMENT ON TABLE dogged.queues IS 'The queues that tasks may be enqueued to, so that a misspelt name is an error and not a task that nobody runs. Workers add those that they serve.';

CREATE TABLE dogged.schema_files (
    name text NOT NULL,
    checksum text NOT NULL,
    applied_at timestamp with time zone DEFAULT now() NOT NULL,
    applied_by text NOT NULL
);

CREATE TABLE dogged.schema_migrations (
    version integer NOT NULL,
    name text NOT NULL,
    checksum text NOT NULL,
    applied_at timestamp with time zone DEFAULT now() NOT NULL,
    applied_by text NOT NULL
);

CREATE TABLE dogged.settings (
    only_row boolean DEFAULT true NOT NULL,
    max_args_bytes integer DEFAULT 1048576 NOT NULL,
    max_result_bytes integer DEFAULT 1048576 NOT NULL,
    max_error_message_bytes integer DEFAULT 65536 NOT NULL,
    partition_days_ahead integer DEFAULT 7 NOT NULL,
    CONSTRAINT settings_max_args_bytes_check CHECK (((max_args_bytes >= 1) AND (max_args_bytes <= 104857600))),
    CONSTRAINT settings_max_error_message_bytes_check CHECK (((max_error_message_bytes >= 256) AND (max_error_message_bytes <= 1048576))),
    CONSTRAINT settings_max_result_bytes_check CHECK (((max_result_bytes >= 1) AND (max_result_bytes <= 104857600))),
    CONSTRAINT settings_only_row_check CHECK (only_row),
    CONSTRAINT settings_partition_days_ahead_check CHECK (((partition_days_ahead >= 1) AND (partition_days_ahead <= 60)))
);

COMMENT ON TABLE dogged.settings IS 'Limits of this queue, one row; update it to change them. Workers read it when they start.';

COMMENT ON COLUMN dogged.settings.max_args_bytes IS 'Tasks whose args are longer, as JSON text, are refused at enqueue.';

COMMENT ON COLUMN dogged.settings.max_result_bytes IS 'A result that is longer, as JSON text, ends its task as failed with INVALID_RESULT.';

COMMENT ON COLUMN dogged.settings.max_error_message_bytes IS 'Longer error messages are cut, and say so.';

COMMENT ON COLUMN dogged.settings.partition_days_ahead IS 'For how many coming days partitions are kept ready.';

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

COMMENT ON COLUMN dogged.task_attempts.attempt IS '1, 2, 3 … for the whole life of the task, without a gap.';

COMMENT ON COLUMN dogged.task_attempts.name IS 'Of the task, so that questions about many attempts need no join.';

COMMENT ON COLUMN dogged.task_attempts.worker_id IS 'Who ran it: workers.id.';

COMMENT ON COLUMN dogged.task_attempts.claimed_at IS 'When its worker took the task.';

COMMENT ON COLUMN dogged.task_attempts.started_at IS 'When its handler began; of a lost attempt, when it was claimed.';

COMMENT ON COLUMN dogged.task_attempts.finished_at IS 'When its handler ended, called complete_in, or was given up; of a lost attempt, when it was rescued.';

COMMENT ON COLUMN dogged.task_attempts.error_code IS 'Null unless the outcome is failed, timed_out, cancelled or lost.';

COMMENT ON COLUMN dogged.task_attempts.will_retry IS 'Whether another attempt was scheduled when this one ended.';

COMMENT ON COLUMN dogged.task_attempts.next_retry_at IS 'finished_at + delay_ms where will_retry.';

COMMENT ON COLUMN dogged.task_attempts.policy IS 'The retry policy that was applied, as `dogged policy show` reads it; null where no retry was decided by one.';

COMMENT ON COLUMN dogged.task_attempts.backoff_ms IS 'The delay by the policy, before jitter.';

COMMENT ON COLUMN dogged.task_attempts.delay_ms IS 'The delay after jitter.';

COMMENT ON COLUMN dogged.task_attempts.retry_after_ms IS 'Given by the error, in place of the policy''s delay.';

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
    circuit text
);

COMMENT ON TABLE dogged.task_definitions IS 'What workers declared with TASK_REGISTER, as their configuration has changed it, published when they start; the last one wins.';

COMMENT ON COLUMN dogged.task_definitions.queue IS 'Where enqueue puts the task if the caller names no queue.';

COMMENT ON COLUMN dogged.task_definitions.retry_policy IS 'As `dogged policy show` and dogged::policy_from_json read it.';

COMMENT ON COLUMN dogged.task_definitions.auto_retry_for IS 'Error codes that are retried; * lists all.';

COMMENT ON COLUMN dogged.task_definitions.timeout_ms IS 'How long an attempt may take; null: no deadline.';

COMMENT ON COLUMN dogged.task_definitions.retry_lost IS 'Whether it runs again after its worker died.';

COMMENT ON COLUMN dogged.task_definitions.dead_letter IS 'Whether a task that fails for good is kept as a dead letter (failed); else it is discarded.';

COMMENT ON COLUMN dogged.task_definitions.max_losses IS 'The loss with this number ends it.';

COMMENT ON COLUMN dogged.task_definitions.version IS 'Of the worker that published it.';

COMMENT ON COLUMN dogged.task_definitions.retry_sources IS 'Where its retry settings come from, as {"max_attempts": "environment RETRY_MAX_ATTEMPTS", "policy_type": "TASK_REGISTER"}: the program, a preset, --retry-config''s file or the environment of the worker that published it.';

COMMENT ON COLUMN dogged.task_definitions.redact IS 'JSON pointers (RFC 6901) into args and result; what they name is shown as "[redacted]".';

COMMENT ON COLUMN dogged.task_definitions.circuit IS 'The circuit breaker that it shares with others (circuits); null: none.';

CREATE TABLE dogged.workers (
    id bigint NOT NULL,
    name text NOT NULL,
    host text NOT NULL,
    pid integer NOT NULL,
    version text NOT NULL,
    queues jsonb NOT NULL,
    task_names text[] NOT NULL,
    started_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    heartbeat_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    stopped_at timestamp with time zone,
    asleep boolean DEFAULT false NOT NULL,
    lease_ms bigint DEFAULT 30000 NOT NULL,
    lease_until timestamp with time zone NOT NULL,
    lease_ended_at timestamp with time zone,
    rescued_at timestamp with time zone,
    claim_session bigint DEFAULT 0 NOT NULL,
    fenced bigint DEFAULT 0 NOT NULL,
    abandoned_threads integer DEFAULT 0 NOT NULL,
    CONSTRAINT workers_lease_ms_check CHECK ((lease_ms > 0)),
    CONSTRAINT workers_name_check CHECK (((octet_length(name) >= 1) AND (octet_length(name) <= 128)))
);

COMMENT ON TABLE dogged.workers IS 'A row for each run of a worker process. Its id is the lease under which the worker holds tasks: what a worker reports is taken only where the task still names that id.';

COMMENT ON COLUMN dogged.workers.queues IS 'Concurrency by queue name.';

COMMENT ON COLUMN dogged.workers.task_names IS 'The tasks that it knows; it never claims others.';

COMMENT ON COLUMN dogged.workers.heartbeat_at IS 'When the worker last renewed its lease.';

COMMENT ON COLUMN dogged.workers.stopped_at IS 'When it ended in order; null while it runs, or if it died.';

COMMENT ON COLUMN dogged.workers.asleep IS 'It waits for a notification: enqueue sends one only where this is true.';

COMMENT ON COLUMN dogged.workers.lease_ms IS 'How long a renewal lasts: the worker''s setting --lease.';

COMMENT ON COLUMN dogged.workers.lease_until IS 'Until when no other worker may end the lease; each heartbeat moves it on.';

COMMENT ON COLUMN dogged.workers.lease_ended_at IS 'When the lease was ended: by another worker after it had lapsed, also of a worker that had stopped, or by its own worker, which went on as a new run. From then on it can neither be renewed nor claimed under, and what is held is rescued.';

COMMENT ON COLUMN dogged.workers.rescued_at IS 'When nothing was left that was held under the ended lease.';

COMMENT ON COLUMN dogged.workers.claim_session IS 'Raised by the worker when the answer to a claim or a release was lost: a statement of an earlier session that arrives late changes nothing.';

COMMENT ON COLUMN dogged.workers.fenced IS 'Reports and give-backs that changed nothing because the worker did not hold the task any more: of the whole process, earlier runs included, as of its last heartbeat. Not to be added up over the runs of a process.';

COMMENT ON COLUMN dogged.workers.abandoned_threads IS 'Threads whose handler did not end after its stop token was set; its attempt was ended without it.';

CREATE VIEW dogged.task_timeline AS
 SELECT a.task_id,
    a.attempt,
    a.name,
    a.queue,
    a.outcome,
    (a.started_at - COALESCE(lag(a.next_retry_at) OVER of_task, t.run_at)) AS waited,
    a.started_at,
    a.finished_at,
    (a.finished_at - a.started_at) AS ran,
    a.error_code,
    a.error_message,
    a.error_details,
    a.will_retry,
    a.next_retry_at,
    a.policy,
    a.backoff_ms,
    a.delay_ms,
    a.retry_after_ms,
    w.name AS worker,
    a.trace_context
   FROM ((dogged.task_attempts a
     LEFT JOIN dogged.tasks t ON ((t.id = a.task_id)))
     LEFT JOIN dogged.workers w ON ((w.id = a.worker_id)))
  WINDOW of_task AS (PARTITION BY a.task_id ORDER BY a.attempt);

COMMENT ON VIEW dogged.task_timeline IS 'One row for each attempt. waited: from the time it was due to its start. ran: how long its handler took.';

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
    cancel_requested_at timestamp with time zone
)
PARTITION BY RANGE (finished_at);

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
    cancel_requested_at timestamp with time zone
);

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
    cancel_requested_at timestamp with time zone
)
WITH (fillfactor='45', autovacuum_vacuum_scale_factor='0.02', autovacuum_vacuum_threshold='1000', autovacuum_vacuum_cost_delay='0');

ALTER TABLE dogged.workers ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME dogged.workers_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

ALTER TABLE ONLY dogged.task_attempts ATTACH PARTITION dogged.task_attempts_default DEFAULT;

ALTER TABLE ONLY dogged.tasks ATTACH PARTITION dogged.tasks_done FOR VALUES IN ('succeeded', 'discarded', 'cancelled', 'expired');

ALTER TABLE ONLY dogged.tasks_done ATTACH PARTITION dogged.tasks_done_default DEFAULT;

ALTER TABLE ONLY dogged.tasks ATTACH PARTITION dogged.tasks_failed FOR VALUES IN ('failed');

ALTER TABLE ONLY dogged.tasks ATTACH PARTITION dogged.tasks_live FOR VALUES IN ('pending', 'running');

ALTER TABLE ONLY dogged.tasks ALTER COLUMN id SET DEFAULT nextval('dogged.tasks_id_seq'::regclass);

ALTER TABLE ONLY dogged.audit
    ADD CONSTRAINT audit_pkey PRIMARY KEY (id);

ALTER TABLE ONLY dogged.circuits
    ADD CONSTRAINT circuits_pkey PRIMARY KEY (name);

ALTER TABLE ONLY dogged.claims
    ADD CONSTRAINT claims_pkey PRIMARY KEY (worker_id, id);

ALTER TABLE ONLY dogged.producer_calls
    ADD CONSTRAINT producer_calls_pkey PRIMARY KEY (producer);

ALTER TABLE ONLY dogged.queues
    ADD CONSTRAINT queues_pkey PRIMARY KEY (name);

ALTER TABLE ONLY dogged.schema_files
    ADD CONSTRAINT schema_files_pkey PRIMARY KEY (name);

ALTER TABLE ONLY dogged.schema_migrations
    ADD CONSTRAINT schema_migrations_pkey PRIMARY KEY (version);

ALTER TABLE ONLY dogged.settings
    ADD CONSTRAINT settings_pkey PRIMARY KEY (only_row);

ALTER TABLE ONLY dogged.task_definitions
    ADD CONSTRAINT task_definitions_pkey PRIMARY KEY (name);

ALTER TABLE ONLY dogged.tasks_failed
    ADD CONSTRAINT tasks_failed_pkey PRIMARY KEY (id);

ALTER TABLE ONLY dogged.tasks_live
    ADD CONSTRAINT tasks_live_pkey PRIMARY KEY (id);

ALTER TABLE ONLY dogged.workers
    ADD CONSTRAINT workers_pkey PRIMARY KEY (id);

CREATE INDEX audit_task ON dogged.audit USING btree (task_id, id) WHERE (task_id IS NOT NULL);

CREATE INDEX task_attempts_task ON ONLY dogged.task_attempts USING btree (task_id, attempt);

CREATE INDEX task_attempts_default_task_id_attempt_idx ON dogged.task_attempts_default USING btree (task_id, attempt);

CREATE INDEX tasks_done_id ON ONLY dogged.tasks_done USING btree (id);

CREATE INDEX tasks_done_default_id_idx ON dogged.tasks_done_default USING btree (id);

CREATE INDEX tasks_failed_finished_at ON dogged.tasks_failed USING btree (finished_at);

CREATE INDEX tasks_live_cancelling ON dogged.tasks_live USING btree (id) WHERE (cancel_requested_at IS NOT NULL);

CREATE INDEX tasks_live_ready ON dogged.tasks_live USING btree (queue, (((priority * '140737488355328'::bigint) + COALESCE(ready_position, id)))) WHERE (NOT deferred);

CREATE INDEX tasks_live_waiting ON dogged.tasks_live USING btree (queue, COALESCE(next_retry_at, run_at)) WHERE deferred;

CREATE INDEX workers_asleep ON dogged.workers USING btree (id) WHERE asleep;

CREATE INDEX workers_lease ON dogged.workers USING btree (lease_until) WHERE (lease_ended_at IS NULL);

CREATE UNIQUE INDEX workers_name ON dogged.workers USING btree (name) WHERE ((lease_ended_at IS NULL) AND (stopped_at IS NULL));

CREATE INDEX workers_to_rescue ON dogged.workers USING btree (id) WHERE ((lease_ended_at IS NOT NULL) AND (rescued_at IS NULL));

ALTER INDEX dogged.task_attempts_task ATTACH PARTITION dogged.task_attempts_default_task_id_attempt_idx;

ALTER INDEX dogged.tasks_done_id ATTACH PARTITION dogged.tasks_done_default_id_idx;

CREATE TRIGGER refuse_change BEFORE DELETE OR UPDATE OR TRUNCATE ON dogged.audit FOR EACH STATEMENT EXECUTE FUNCTION dogged.refuse_change_of_audit();

CREATE TRIGGER refuse_change BEFORE DELETE OR UPDATE ON dogged.task_attempts FOR EACH ROW EXECUTE FUNCTION dogged.refuse_change_of_history();

CREATE TRIGGER refuse_to_forget BEFORE DELETE ON dogged.workers FOR EACH ROW EXECUTE FUNCTION dogged.refuse_to_forget_worker();

CREATE TRIGGER refuse_truncate BEFORE TRUNCATE ON dogged.task_attempts FOR EACH STATEMENT EXECUTE FUNCTION dogged.refuse_change_of_history();

CREATE TRIGGER refuse_truncate BEFORE TRUNCATE ON dogged.task_attempts_default FOR EACH STATEMENT EXECUTE FUNCTION dogged.refuse_change_of_history();
