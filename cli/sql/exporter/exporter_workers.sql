-- The workers that have not stopped. state: live; lapsed: the lease ran out, and no worker has ended it yet; lost: the lease
-- was ended, and not all tasks that were held under it are rescued. left_us: until the lease runs out, negative since then.
-- queues: concurrency by queue name.
-- gives: name text, state text, age_us bigint, left_us bigint, queues jsonb
select w.name,
       case when w.lease_ended_at is not null then 'lost' when w.lease_until < clock_timestamp() then 'lapsed' else 'live' end as state,
       (extract(epoch from clock_timestamp() - w.heartbeat_at) * 1000000)::bigint as age_us,
       (extract(epoch from w.lease_until - clock_timestamp()) * 1000000)::bigint as left_us,
       w.queues::text as queues
  from dogged.workers w
 where w.lease_ended_at is null and w.stopped_at is null or w.lease_ended_at is not null and w.rescued_at is null
 order by w.id
