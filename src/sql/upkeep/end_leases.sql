-- Ends the lapsed leases, unless the lease of worker @worker_id, which runs this, has lapsed too. After the server has
-- stood still, all leases have lapsed, and live workers renew theirs in a moment. A running claim locks its worker's
-- row. Such a row is skipped, and the next run of this statement ends the lease. No claim can be made under an ended
-- lease.
-- gives: id bigint, name text, host text, pid int, stopped boolean, silent_for_ms bigint
with lapsed as (
  select id from dogged.workers
   where lease_ended_at is null and lease_until < clock_timestamp()
     and exists (select from dogged.workers me
                  where me.id = @worker_id::bigint and me.lease_ended_at is null and me.lease_until > clock_timestamp())
     for update skip locked
)
update dogged.workers w
   set lease_ended_at = clock_timestamp(), asleep = false
  from lapsed
 where w.id = lapsed.id
returning w.id, w.name, w.host, w.pid, w.stopped_at is not null as stopped,
          (extract(epoch from clock_timestamp() - w.heartbeat_at) * 1000)::bigint as silent_for_ms
