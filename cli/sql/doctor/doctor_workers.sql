-- Workers that are alive or have left tasks behind: how long ago their lease lapsed, or was ended without all tasks
-- rescued.
-- gives: id bigint, name text, version text, host text, lease_ms bigint, abandoned_threads bigint
-- gives: clock_ahead_ms bigint?, clock_uncertainty_ms bigint?, is_live boolean, holds_lease boolean, lapsed_us bigint?
-- gives: unrescued_us bigint?, held_tasks bigint
select w.id, w.name, w.version, w.host, w.lease_ms, w.abandoned_threads, w.clock_ahead_ms, w.clock_uncertainty_ms,
       dogged.worker_state(w.lease_until, w.stop_began_at, w.lease_ended_at, w.stopped_at) = 'live' as is_live,
       dogged.worker_state(w.lease_until, w.stop_began_at, w.lease_ended_at, w.stopped_at) in ('live', 'stopping') as holds_lease,
       case when w.lease_ended_at is null and w.lease_until < clock_timestamp()
            then (extract(epoch from clock_timestamp() - w.lease_until) * 1000000)::bigint end as lapsed_us,
       case when w.lease_ended_at is not null
            then (extract(epoch from clock_timestamp() - w.lease_ended_at) * 1000000)::bigint end as unrescued_us,
       (select count(*) from dogged.tasks_live t
         where t.id = any (array(select unnest(c.task_ids) from dogged.claims c where c.worker_id = w.id))
           and t.worker_id = w.id and t.status = 'running') as held_tasks
  from dogged.workers w
 where w.lease_ended_at is null and w.stopped_at is null or w.lease_ended_at is not null and w.rescued_at is null
 order by w.id
