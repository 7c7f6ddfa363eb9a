-- The current settings of the queues $1. resumes_in_ms: when a paused queue resumes; null if it waits for an explicit
-- resume. The statement reads without a lock, so a transaction that changes a queue blocks no worker.
select q.name, q.concurrency, q.retry_budget, q.min_retries_per_second,
       coalesce(q.paused_at is not null and (q.paused_until is null or q.paused_until > clock_timestamp()), false) as is_paused,
       ceil(extract(epoch from q.paused_until - clock_timestamp()) * 1000)::bigint as resumes_in_ms
  from dogged.queues q
 where q.name = any ($1::text[])
