-- What is set for the queues $1 now. resumes_in_ms: of a paused one, null where it waits to be resumed. Read without a lock:
-- who changes a queue holds up nobody.
select q.name, q.concurrency, q.retry_budget, q.min_retries_per_second,
       coalesce(q.paused_at is not null and (q.paused_until is null or q.paused_until > clock_timestamp()), false) as is_paused,
       ceil(extract(epoch from q.paused_until - clock_timestamp()) * 1000)::bigint as resumes_in_ms
  from dogged.queues q
 where q.name = any ($1::text[])
