-- Ends claimed tasks that were not started before their expires_at: task $2[i], attempt $3[i]. No attempt is spent. Fenced as
-- release.sql is, its plan pinned as there, and by the claim session $4. One whose cancellation was requested meanwhile is cancelled. Of those that it
-- does not give back the time is not over by the database's clock, or they are locked, or not held any more.
with session as materialized (
  select from dogged.workers where id = $1::bigint and claim_session = $4::bigint for key share
), held as materialized (
  select found.id
    from (select * from unnest($2::bigint[], $3::int[]) as given (id, attempt) order by id) given
   cross join lateral (
     select t.id
       from dogged.tasks_live t
      where t.id = given.id and t.attempt = given.attempt and t.worker_id = $1::bigint
        and case when t.status = 'running' then t.expires_at <= clock_timestamp() end  -- not by the index of expires_at
        for update skip locked) found
   where exists (select from session)
), removed as (
  delete from dogged.tasks_live t where t.id = any (array(select id from held)) returning t.*
)
insert into dogged.tasks (id, status, queue, name, priority, args, enqueued_at, run_at, attempt, retry_count, losses,
                          finished_at, error_code, error_message, trace_context, cancel_requested_at, expires_at, tags)
select id, case when cancel_requested_at is null then 'expired' else 'cancelled' end::dogged.task_status, queue, name,
       priority, args, enqueued_at, run_at, attempt - 1, retry_count, losses, clock_timestamp(), error_code,
       error_message, trace_context, cancel_requested_at, expires_at, tags
  from removed
returning id, name, queue, status
