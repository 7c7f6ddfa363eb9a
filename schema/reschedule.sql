-- dogged.reschedule(id, run_at) sets another time for the next run of a pending task. With now() the task runs as soon
-- as a worker is free.

create or replace function dogged.reschedule(id bigint, run_at timestamptz) returns text
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
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
comment on function dogged.reschedule(bigint, timestamptz) is
  'Sets the time of the next run of a pending task in the caller''s transaction, and records this in dogged.audit. The task may be '
  'ready, or wait for its first run or for a retry. now(): the task runs as soon as a worker is free. No retry is spent. Returns '
  'rescheduled; running: an attempt is under way, nothing has changed; ended: the task had ended before (dogged.replay runs a dead '
  'letter again); not_found: no such task exists, or no longer.';
