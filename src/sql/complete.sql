-- Ends attempts in one statement: moves finished tasks to their partition, schedules retries, writes the attempt rows.
-- Fenced: a report counts only where the task still runs under this worker and this attempt. Gives the ids of the reports that
-- did not count, mostly none: a row for each that did would take as long as ending a few dozen tasks more (docs/decisions/0011).
-- Where cancelling was requested meanwhile only success and cancellation count: the worker decides again.
-- Nor does a retry count that would fall after its task's expires_at, by the database's clock: `is_too_late` says so, and the
-- worker decides again.
-- A locked row is left for the next batch: a handler's own transaction may hold it, and the others do not wait for that.
-- Times are the database's: the worker reports how long ago the handler began and ended.
--
-- `held` looks each task up by its key and locks it, and arrays of keys pin the rest to the same index. Joins of report
-- and table were planned by what the statistics say of `worker_id`, and took 1.4 s for a batch where this takes 30 ms. By
-- ctid instead of by key, a row that someone else changed while it was waited for would not be found again: it would be
-- recorded as ended, and stay.
--
-- Most attempts succeed, and there is nothing to say of them but when they ran. What there is to say of others comes in
-- arrays of their own ($6 and on), with the position of their report: fewer arrays are faster to read.
-- Where nothing is to run again `held` is not read for it. (A filter on `to_status` in that FROM made the planner expect one row, and
-- join each with each.)
with report as (
  select r.id, r.attempt, r.started_us_ago, r.finished_us_ago, d.*, coalesce(d.status, 'succeeded') as to_status
    from unnest($2::bigint[], $3::int[], $4::bigint[], $5::bigint[]) with ordinality
           as r (id, attempt, started_us_ago, finished_us_ago, place)
    left join unnest($6::bigint[], $7::dogged.task_status[], $8::dogged.attempt_outcome[], $9::int[], $10::int[],
                     $11::jsonb[], $12::text[], $13::text[], $14::jsonb[], $15::text[], $16::bigint[], $17::bigint[],
                     $18::bigint[])
                as d (position, status, outcome, retry_count, losses, result, error_code, error_message, error_details,
                      policy, backoff_ms, delay_ms, retry_after_ms)
      on d.position = r.place
), held as materialized (
  select r.id, r.attempt, r.to_status, coalesce(r.outcome, 'succeeded') as outcome, r.result, r.error_code,
         r.error_message, r.error_details, r.policy, r.backoff_ms, r.delay_ms, r.retry_after_ms,
         coalesce(r.retry_count, t.retry_count) as retry_count, coalesce(r.losses, t.losses) as losses,
         t.queue, t.name, t.priority, t.args, t.enqueued_at, t.run_at, t.expires_at, t.claimed_at, t.trace_context, t.tags,
         t.cancel_requested_at,
         dogged.moment_ago(t.claimed_at, r.started_us_ago) as started_at,
         dogged.moment_ago(t.claimed_at, r.finished_us_ago) as finished_at,
         dogged.moment_ago(t.claimed_at, r.finished_us_ago) + r.delay_ms * interval '1 millisecond' as next_retry_at
    from report r
   cross join lateral (
     select *
       from dogged.tasks_live live
      where live.id = r.id and live.attempt = r.attempt and live.status = 'running'
        and live.worker_id = $1::bigint
        and (live.cancel_requested_at is null or r.to_status in ('succeeded', 'cancelled'))
        for update skip locked) t
), removed as (
  delete from dogged.tasks_live
   where id = any (array(select id from held where to_status <> 'pending'))
), finished as (
  insert into dogged.tasks (id, status, queue, name, priority, args, enqueued_at, run_at, attempt, retry_count, losses,
                            worker_id, claimed_at, finished_at, result, error_code, error_message, trace_context,
                            cancel_requested_at, expires_at, tags)
  select id, to_status, queue, name, priority, args, enqueued_at, run_at, attempt, retry_count, losses, $1::bigint,
         claimed_at, finished_at, result, error_code, error_message, trace_context, cancel_requested_at, expires_at, tags
    from held
   where to_status <> 'pending'
), rescheduled as (
  update dogged.tasks_live t
     set status = 'pending', retry_count = h.retry_count, losses = h.losses,
         error_code = coalesce(h.error_code, t.error_code),
         error_message = case when h.error_code is null then t.error_message else h.error_message end,
         next_retry_at = h.next_retry_at, deferred = h.delay_ms > 0,
         ready_position = case when h.delay_ms > 0 then t.ready_position else dogged.place_in_front() end
    from held h
   where 'pending' = any ($7::dogged.task_status[])
     and t.id = any (array(select id from held where to_status = 'pending' and (next_retry_at > expires_at) is not true)) and t.id = h.id
), recorded as (
  insert into dogged.task_attempts (task_id, attempt, name, queue, outcome, worker_id, claimed_at, started_at,
                                    finished_at, error_code, error_message, error_details, will_retry, next_retry_at,
                                    policy, backoff_ms, delay_ms, retry_after_ms, trace_context)
  select id, attempt, name, queue, outcome, $1::bigint, claimed_at, started_at, finished_at, error_code, error_message,
         error_details, to_status = 'pending', next_retry_at, policy, backoff_ms, delay_ms, retry_after_ms, trace_context
    from held
   where (next_retry_at > expires_at) is not true
)
-- What is not in `held` did not count. The number of its rows spares the search where all did; so an id stands in a batch once.
select id, true as is_too_late from held where next_retry_at > expires_at
 union all
select id, false from unnest($2::bigint[]) id
 where (select count(*) from held) < cardinality($2::bigint[]) and id not in (select id from held)
