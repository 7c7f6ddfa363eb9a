-- Lists queues, or queue @name, with their current tasks and their settings. Failed and finished tasks are not counted,
-- because there may be very many. A queue counts as paused only until its pause is over.
-- gives: name text, ready bigint, waiting bigint, running bigint, is_paused boolean, paused_at_us bigint?
-- gives: paused_until_us bigint?, max_depth bigint?, concurrency bigint?, retry_budget float8?
-- gives: min_retries_per_second float8, keep_done_days bigint?, keep_failed_days bigint?, created_at_us bigint
select q.name,
       count(t.id) filter (where t.status = 'pending' and coalesce(t.next_retry_at, t.run_at) <= now()) as ready,
       count(t.id) filter (where t.status = 'pending' and coalesce(t.next_retry_at, t.run_at) > now()) as waiting,
       count(t.id) filter (where t.status = 'running') as running,
       coalesce(q.paused_at is not null and (q.paused_until is null or q.paused_until > clock_timestamp()), false) as is_paused,
       (extract(epoch from q.paused_at) * 1000000)::bigint as paused_at_us,
       (extract(epoch from q.paused_until) * 1000000)::bigint as paused_until_us,
       q.max_depth, q.concurrency, q.retry_budget, q.min_retries_per_second, q.keep_done_days, q.keep_failed_days,
       (extract(epoch from q.created_at) * 1000000)::bigint as created_at_us
  from dogged.queues q
  left join dogged.tasks_live t on t.queue = q.name
 where @name::text? is null or q.name = @name
 group by q.name
 order by q.name
