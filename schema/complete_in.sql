-- dogged.complete_in(…) ends an attempt as succeeded in its handler's own transaction. The handler's writes and the end
-- of the attempt commit together, or neither does. Context::complete_in of <dogged/transaction.hpp> calls it.
--
-- dogged.complete_in is fenced like complete.sql. If the worker no longer holds the attempt, the function raises an
-- error, after which PostgreSQL itself refuses to commit the transaction. A caller could overlook a result.
--
-- SQLSTATE LE001: the worker no longer holds the attempt. 22023: the attempt has already succeeded.

create or replace function dogged.refuse_completion(task_id bigint, attempt integer, worker_id bigint) returns void
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
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
comment on function dogged.refuse_completion(bigint, integer, bigint) is
  'Internal: raises the error that says what has become of an attempt that complete_in cannot end.';

create or replace function dogged.complete_in(task_id bigint, attempt integer, worker_id bigint, result jsonb,
                                              ran_us bigint, own_trace text default null) returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
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
comment on function dogged.complete_in(bigint, integer, bigint, jsonb, bigint, text) is
  'Internal: ends a running attempt as succeeded in the caller''s transaction, for Context::complete_in. ran_us: how long the '
  'handler has run; own_trace: the trace context of an attempt that is the sampled root of a trace. Raises LE001 if the worker '
  'no longer holds this attempt. Then nothing of the transaction commits.';
