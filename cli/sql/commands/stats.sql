-- Statistics of the queues. Durations are microseconds, points in time are microseconds since 1970.
-- gives: queue text, ready bigint, waiting bigint, running bigint, attempts bigint, ended_per_minute float8
-- gives: failed_per_minute float8, retry_share float8?, oldest_due_at_us bigint?, wait_p50_us bigint?
-- gives: wait_p95_us bigint?, run_p50_us bigint?, run_p95_us bigint?, now_us bigint, is_paused boolean
-- gives: paused_until_us bigint?, snoozed bigint, most_snoozes int
select s.queue, s.ready, s.waiting, s.running, s.attempts, s.ended_per_minute, s.failed_per_minute, s.retry_share,
       (extract(epoch from s.oldest_due_at) * 1000000)::bigint as oldest_due_at_us,
       (extract(epoch from s.wait_p50) * 1000000)::bigint as wait_p50_us,
       (extract(epoch from s.wait_p95) * 1000000)::bigint as wait_p95_us,
       (extract(epoch from s.run_p50) * 1000000)::bigint as run_p50_us,
       (extract(epoch from s.run_p95) * 1000000)::bigint as run_p95_us,
       (extract(epoch from now()) * 1000000)::bigint as now_us,
       coalesce(q.paused_at is not null and (q.paused_until is null or q.paused_until > clock_timestamp()), false) as is_paused,
       (extract(epoch from q.paused_until) * 1000000)::bigint as paused_until_us,
       s.snoozed, s.most_snoozes
  from dogged.queue_stats s
  left join dogged.queues q on q.name = s.queue
 order by s.queue
