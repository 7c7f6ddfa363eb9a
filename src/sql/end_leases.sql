-- Ends the leases that have lapsed. A claim holds its worker's row: one that is under way is waited for by the next look,
-- and none can be made under a lease that has ended.
with lapsed as (
  select id from dogged.workers
   where lease_ended_at is null and lease_until < clock_timestamp()
     for update skip locked
)
update dogged.workers w
   set lease_ended_at = clock_timestamp(), asleep = false
  from lapsed
 where w.id = lapsed.id
returning w.id, w.name, w.host, w.pid, w.stopped_at is not null as stopped,
          (extract(epoch from clock_timestamp() - w.heartbeat_at) * 1000)::bigint as silent_for_ms
