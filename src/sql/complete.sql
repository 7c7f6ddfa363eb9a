-- Ends attempts in one statement: moves finished tasks to their partition, schedules retries, writes the attempt rows.
-- Fenced: a report counts only where the task still runs under this worker and this attempt. Gives the ids that counted.
-- Times are the database's: the worker reports how long after the claim the handler began, and how long it took.
with report as (
  select *
    from unnest($2::bigint[], $3::int[], $4::dogged.task_status[], $5::dogged.attempt_outcome[], $6::int[], $7::int[],
                $8::bigint[], $9::bigint[], $10::jsonb[], $11::text[], $12::text[], $13::jsonb[], $14::text[],
                $15::bigint[], $16::bigint[], $17::bigint[])
           as r (id, attempt, to_status, outcome, retry_count, losses, started_us, finished_us, result, error_code,
                 error_message, error_details, policy, backoff_ms, delay_ms, retry_after_ms)
), ended as (
  delete from dogged.tasks_live t
   using report r
   where t.id = r.id and t.attempt = r.attempt and t.worker_id = $1::bigint and t.status = 'running'
     and r.to_status <> 'pending'
  returning t.*
), rescheduled as (
  update dogged.tasks_live t
     set status = 'pending', retry_count = r.retry_count, losses = r.losses,
         error_code = coalesce(r.error_code, t.error_code), error_message = coalesce(r.error_message, t.error_message),
         next_retry_at = dogged.moment_after(t.claimed_at, r.finished_us) + r.delay_ms * interval '1 millisecond',
         deferred = r.delay_ms > 0
    from report r
   where t.id = r.id and t.attempt = r.attempt and t.worker_id = $1::bigint and t.status = 'running'
     and r.to_status = 'pending'
  returning t.*
), finished as (
  insert into dogged.tasks (id, status, queue, name, priority, args, enqueued_at, run_at, attempt, retry_count, losses,
                            worker_id, claimed_at, finished_at, result, error_code, error_message, trace_context)
  select t.id, r.to_status, t.queue, t.name, t.priority, t.args, t.enqueued_at, t.run_at, t.attempt, r.retry_count,
         r.losses, t.worker_id, t.claimed_at, dogged.moment_after(t.claimed_at, r.finished_us), r.result, r.error_code,
         r.error_message, t.trace_context
    from ended t
    join report r using (id)
), taken as (
  select id, attempt, name, queue, worker_id, claimed_at, null::timestamptz as next_retry_at, trace_context from ended
  union all
  select id, attempt, name, queue, worker_id, claimed_at, next_retry_at, trace_context from rescheduled
), recorded as (
  insert into dogged.task_attempts (task_id, attempt, name, queue, outcome, worker_id, claimed_at, started_at,
                                    finished_at, error_code, error_message, error_details, will_retry, next_retry_at,
                                    policy, backoff_ms, delay_ms, retry_after_ms, trace_context)
  select t.id, t.attempt, t.name, t.queue, r.outcome, t.worker_id, t.claimed_at,
         dogged.moment_after(t.claimed_at, r.started_us), dogged.moment_after(t.claimed_at, r.finished_us),
         r.error_code, r.error_message, r.error_details, r.to_status = 'pending', t.next_retry_at, r.policy,
         r.backoff_ms, r.delay_ms, r.retry_after_ms, t.trace_context
    from taken t
    join report r using (id)
)
select id from taken
