-- The attempts of task $1, in order.
select a.task_id, a.attempt, a.name, a.queue, a.outcome, a.worker_id, w.name as worker, a.error_code, a.error_message,
       a.error_details::text as error_details, a.will_retry, a.policy, a.backoff_ms, a.delay_ms, a.retry_after_ms,
       a.trace_context,
       (extract(epoch from a.claimed_at) * 1000000)::bigint as claimed_at_us,
       (extract(epoch from a.started_at) * 1000000)::bigint as started_at_us,
       (extract(epoch from a.finished_at) * 1000000)::bigint as finished_at_us,
       (extract(epoch from a.next_retry_at) * 1000000)::bigint as next_retry_at_us,
       (extract(epoch from w.lease_ended_at) * 1000000)::bigint as lease_ended_at_us
  from dogged.task_attempts a
  left join dogged.workers w on w.id = a.worker_id
 where a.task_id = $1::bigint
 order by a.attempt
