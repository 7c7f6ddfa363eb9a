-- Lists attempts, the latest first, at most $6: of task $1, name $2, error code $3 and outcome $4 (null: all), ended in
-- the last $5 milliseconds (null: ever). With $5 the query reads only the days in that time.
select a.task_id, a.attempt, a.name, a.queue, a.outcome, a.worker_id, w.name as worker, a.error_code, a.error_message,
       a.error_details::text as error_details, a.will_retry, a.policy, a.backoff_ms, a.delay_ms, a.retry_after_ms,
       a.trace_context,
       (extract(epoch from a.claimed_at) * 1000000)::bigint as claimed_at_us,
       (extract(epoch from a.started_at) * 1000000)::bigint as started_at_us,
       (extract(epoch from a.finished_at) * 1000000)::bigint as finished_at_us,
       (extract(epoch from a.next_retry_at) * 1000000)::bigint as next_retry_at_us
  from dogged.task_attempts a
  left join dogged.workers w on w.id = a.worker_id
 where ($1::bigint is null or a.task_id = $1::bigint)
   and ($2::text is null or a.name = $2::text)
   and ($3::text is null or a.error_code = $3::text)
   and ($4::dogged.attempt_outcome is null or a.outcome = $4::dogged.attempt_outcome)
   and ($5::bigint is null or a.finished_at >= now() - $5::bigint * interval '1 millisecond')
 order by a.finished_at desc, a.task_id desc, a.attempt desc
 limit $6::bigint
