-- Ends the leases that have lapsed, if that of worker $1, which asks, has not: when the server has stood still, all of them
-- have, and who lives renews them in a moment. A claim holds its worker's row: one that is under way is waited for by the next look,
-- and none can be made under a lease that has ended.
with lapsed as (
  select id from dogged.workers
   where lease_ended_at is null and lease_until < clock_timestamp()
     and exists (select from dogged.workers me
                  where me.id = $1::bigint and me.lease_ended_at is null and me.lease_until > clock_timestamp())
     for update skip locked
)
update dogged.workers w
   set lease_ended_at = clock_timestamp(), asleep = false
  from lapsed
 where w.id = lapsed.id
returning w.id, w.name, w.host, w.pid, w.stopped_at is not null as stopped,
          (extract(epoch from clock_timestamp() - w.heartbeat_at) * 1000)::bigint as silent_for_ms
