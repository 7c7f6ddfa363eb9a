-- The workers that have not stopped, and workers with tasks to be rescued. state: lost if the lease was ended, else as by
-- dogged.worker_state.
-- left_us: until the lease runs out, negative since then. queues: concurrency by queue name.
-- gives: name text, state text, age_us bigint, left_us bigint, lease_ms bigint, queues jsonb
select w.name,
       case when w.lease_ended_at is not null then 'lost'
            else dogged.worker_state(w.lease_until, w.stop_began_at, w.lease_ended_at, w.stopped_at) end as state,
       (extract(epoch from clock_timestamp() - w.heartbeat_at) * 1000000)::bigint as age_us,
       (extract(epoch from w.lease_until - clock_timestamp()) * 1000000)::bigint as left_us,
       w.lease_ms, w.queues::text as queues
  from dogged.workers w
 where w.lease_ended_at is null and w.stopped_at is null or w.lease_ended_at is not null and w.rescued_at is null
 order by w.id
