-- dogged.cancel(id): a waiting task ends at once. A running task is asked to stop, and ends as docs/lifecycle.md says.

create or replace function dogged.cancel(id bigint) returns text
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
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
comment on function dogged.cancel(bigint) is
  'Cancels a task in the caller''s transaction, and records this in dogged.audit. Returns cancelled: the task was pending and has '
  'ended; requested: the task runs, its handler is asked to stop once this transaction commits, and the task ends as cancelled '
  'unless the attempt succeeds; ended: the task had ended before, nothing has changed; not_found: no such task exists, or no '
  'longer.';
