-- Tasks for the command line, the newest first: of status $1, queue $2, name $3 and error code $4 (null: all), older than
-- task $5, at most $6.
select t.id, t.status, t.queue, t.name, t.priority, t.args::text as args, t.attempt, t.retry_count, t.losses,
       t.worker_id, w.name as worker, t.result::text as result, t.error_code, t.error_message, t.trace_context,
       (extract(epoch from t.enqueued_at) * 1000000)::bigint as enqueued_at_us,
       (extract(epoch from t.run_at) * 1000000)::bigint as run_at_us,
       (extract(epoch from t.next_retry_at) * 1000000)::bigint as next_retry_at_us,
       (extract(epoch from t.expires_at) * 1000000)::bigint as expires_at_us,
       (extract(epoch from t.claimed_at) * 1000000)::bigint as claimed_at_us,
       (extract(epoch from t.cancel_requested_at) * 1000000)::bigint as cancel_requested_at_us,
       (extract(epoch from t.finished_at) * 1000000)::bigint as finished_at_us,
       (extract(epoch from clock_timestamp()) * 1000000)::bigint as now_us
  from dogged.redacted_tasks t
  left join dogged.workers w on w.id = t.worker_id
 where ($1::dogged.task_status is null or t.status = $1::dogged.task_status)
   and ($2::text is null or t.queue = $2::text)
   and ($3::text is null or t.name = $3::text)
   and ($4::text is null or t.error_code = $4::text)
   and ($5::bigint is null or t.id < $5::bigint)
 order by t.id desc
 limit $6::bigint
