-- The queues: their tasks now, their settings, and how many retries fall due within 1, 5 and 15 minutes from now. A queue
-- counts as paused only until its pause is over. Reads all live tasks once.
-- gives: name text, ready bigint, waiting bigint, running bigint, oldest_due_us bigint?, retries_1m bigint
-- gives: retries_5m bigint, retries_15m bigint, is_paused boolean, retry_budget float8?, min_retries_per_second float8
with depth as (
  select t.queue,
         count(*) filter (where t.status = 'pending' and t.due_at <= now()) as ready,
         count(*) filter (where t.status = 'pending' and t.due_at > now()) as waiting,
         count(*) filter (where t.status = 'running') as running,
         min(t.due_at) filter (where t.status = 'pending' and t.due_at <= now()) as oldest_due_at,
         count(*) filter (where t.is_retry and t.due_at <= now() + interval '1 minute') as retries_1m,
         count(*) filter (where t.is_retry and t.due_at <= now() + interval '5 minutes') as retries_5m,
         count(*) filter (where t.is_retry and t.due_at <= now() + interval '15 minutes') as retries_15m
    from (select l.queue, l.status, coalesce(l.next_retry_at, l.run_at) as due_at,
                 l.status = 'pending' and l.retry_count > 0 and l.next_retry_at > now() as is_retry
            from dogged.tasks_live l) as t
   group by t.queue
)
select q.name, coalesce(d.ready, 0) as ready, coalesce(d.waiting, 0) as waiting, coalesce(d.running, 0) as running,
       (extract(epoch from now() - d.oldest_due_at) * 1000000)::bigint as oldest_due_us,
       coalesce(d.retries_1m, 0) as retries_1m, coalesce(d.retries_5m, 0) as retries_5m, coalesce(d.retries_15m, 0) as retries_15m,
       coalesce(q.paused_at is not null and (q.paused_until is null or q.paused_until > now()), false) as is_paused,
       q.retry_budget, q.min_retries_per_second
  from dogged.queues q
  left join depth d on d.queue = q.name
 order by q.name
