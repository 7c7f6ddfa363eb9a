-- The current settings of the queues @names. resumes_in_ms: when a paused queue resumes; null if it waits for an
-- explicit resume. The statement reads without a lock, so a transaction that changes a queue blocks no worker.
-- gives: name text, concurrency int?, retry_budget float8?, min_retries_per_second float8, is_paused boolean
-- gives: resumes_in_ms bigint?
select q.name, q.concurrency, q.retry_budget, q.min_retries_per_second,
       coalesce(q.paused_at is not null and (q.paused_until is null or q.paused_until > clock_timestamp()), false) as is_paused,
       ceil(extract(epoch from q.paused_until - clock_timestamp()) * 1000)::bigint as resumes_in_ms
  from dogged.queues q
 where q.name = any (@names::text[])
