-- The attempts of task @task_id, in order, the running one last. Times are microseconds since 1970.
-- gives: attempt int, outcome dogged.attempt_outcome?, worker text?, due_at_us bigint?, claimed_at_us bigint
-- gives: started_at_us bigint?, finished_at_us bigint?, error_code text?, error_message text?, error_details jsonb?
-- gives: will_retry boolean?, next_retry_at_us bigint?, policy text?, backoff_ms bigint?, delay_ms bigint?
-- gives: retry_after_ms bigint?
select attempt, outcome, worker, (extract(epoch from due_at) * 1000000)::bigint as due_at_us,
       (extract(epoch from claimed_at) * 1000000)::bigint as claimed_at_us,
       (extract(epoch from started_at) * 1000000)::bigint as started_at_us,
       (extract(epoch from finished_at) * 1000000)::bigint as finished_at_us,
       error_code, error_message, error_details::text as error_details, will_retry,
       (extract(epoch from next_retry_at) * 1000000)::bigint as next_retry_at_us, policy, backoff_ms, delay_ms,
       retry_after_ms
  from dogged.task_timeline
 where task_id = @task_id::bigint
 order by attempt
