-- Lists attempts, the latest first, at most @most. Filters: task @task, name @name, error code @error_code and outcome
-- @outcome (null: all). The attempts ended from @finished_after to before @finished_before (null: no bound). The query
-- reads only the days between the two.
-- gives: task_id bigint, attempt int, name text, queue text, outcome dogged.attempt_outcome, worker_id bigint
-- gives: worker text?, error_code text?, error_message text?, error_details jsonb?, will_retry boolean, policy text?
-- gives: backoff_ms bigint?, delay_ms bigint?, retry_after_ms bigint?, trace_context text?, claimed_at_us bigint
-- gives: started_at_us bigint, finished_at_us bigint, next_retry_at_us bigint?
select a.task_id, a.attempt, a.name, a.queue, a.outcome, a.worker_id, w.name as worker, a.error_code, a.error_message,
       a.error_details::text as error_details, a.will_retry, a.policy, a.backoff_ms, a.delay_ms, a.retry_after_ms,
       a.trace_context,
       (extract(epoch from a.claimed_at) * 1000000)::bigint as claimed_at_us,
       (extract(epoch from a.started_at) * 1000000)::bigint as started_at_us,
       (extract(epoch from a.finished_at) * 1000000)::bigint as finished_at_us,
       (extract(epoch from a.next_retry_at) * 1000000)::bigint as next_retry_at_us
  from dogged.task_attempts a
  left join dogged.workers w on w.id = a.worker_id
 where (@task::bigint? is null or a.task_id = @task)
   and (@name::text? is null or a.name = @name)
   and (@error_code::text? is null or a.error_code = @error_code)
   and (@outcome::dogged.attempt_outcome? is null or a.outcome = @outcome)
   and (@finished_after::timestamptz? is null or a.finished_at >= @finished_after)
   and (@finished_before::timestamptz? is null or a.finished_at < @finished_before)
 order by a.finished_at desc, a.task_id desc, a.attempt desc
 limit @most::bigint
