-- Ends claimed tasks that were not started before their expires_at: task @ids[i], attempt @attempts[i]. No attempt is
-- spent. Fenced like release.sql, and by claim session @claim_session; the plan is pinned as there. A task whose
-- cancellation was requested meanwhile ends as cancelled. The result omits a task that has not expired by the
-- database's clock, whose row is locked, or that the worker no longer holds.
-- gives: id bigint, name text, queue text, status text
with session as materialized (
  select from dogged.workers where id = @worker_id::bigint and claim_session = @claim_session::bigint for key share
), held as materialized (
  select found.id
    from (select * from unnest(@ids::bigint[], @attempts::int[]) as given (id, attempt) order by id) given
   cross join lateral (
     select t.id
       from dogged.tasks_live t
      where t.id = given.id and t.attempt = given.attempt and t.worker_id = @worker_id::bigint
        and case when t.status = 'running' then t.expires_at <= clock_timestamp() end  -- avoids the expires_at index
        for update skip locked) found
   where exists (select from session)
), removed as (
  delete from dogged.tasks_live t where t.id = any (array(select id from held)) returning t.*
)
insert into dogged.tasks_done (id, status, queue, name, priority, args, enqueued_at, run_at, attempt, retry_count, losses,
                          finished_at, error_code, error_message, trace_context, cancel_requested_at, expires_at, tags,
                          parent_id, args_version, snoozes, unique_key)
select id, case when cancel_requested_at is null then 'expired' else 'cancelled' end::dogged.task_status, queue, name,
       priority, args, enqueued_at, run_at, attempt - 1, retry_count, losses, clock_timestamp(), error_code,
       error_message, trace_context, cancel_requested_at, expires_at, tags, parent_id, args_version,
       snoozes, unique_key
  from removed
returning id, name, queue, status
