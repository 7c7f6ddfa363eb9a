-- Task @task_id as task_overview shows it, values of args and result redacted; no row if there is none. Times are
-- microseconds since 1970.
-- gives: id bigint, name text, queue text, status dogged.task_status, state text, since_us bigint, next_run_at_us bigint?
-- gives: attempts int, retry_count int, losses int, last_error_code text?, last_error_message text?, worker text?
-- gives: priority int, args jsonb, result jsonb?, enqueued_at_us bigint, run_at_us bigint, claimed_at_us bigint?
-- gives: finished_at_us bigint?, cancel_requested_at_us bigint?, trace_context text?, tags text, parent_id bigint?
-- gives: args_version int, max_retries int?, snoozes int, progress float8?, progress_message text?, progress_attempt int?
-- gives: progress_at_us bigint?
select id, name, queue, status, state, (extract(epoch from since) * 1000000)::bigint as since_us,
       (extract(epoch from next_run_at) * 1000000)::bigint as next_run_at_us, attempts, retry_count, losses,
       last_error_code, last_error_message, worker, priority::int as priority, args::text as args, result::text as result,
       (extract(epoch from enqueued_at) * 1000000)::bigint as enqueued_at_us,
       (extract(epoch from run_at) * 1000000)::bigint as run_at_us,
       (extract(epoch from claimed_at) * 1000000)::bigint as claimed_at_us,
       (extract(epoch from finished_at) * 1000000)::bigint as finished_at_us,
       (extract(epoch from cancel_requested_at) * 1000000)::bigint as cancel_requested_at_us,
       trace_context, to_json(tags)::text as tags, parent_id, args_version::int as args_version,
       max_retries, snoozes, progress, progress_message, progress_attempt,
       (extract(epoch from progress_at) * 1000000)::bigint as progress_at_us
  from dogged.task_overview
 where id = @task_id::bigint
