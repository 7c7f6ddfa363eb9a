-- Ends the worker's own lease $1, which it could not keep, or which it had before it restarted itself. The row must
-- still name process $2 on host $3: after a failover the new server may have given the id to another worker. A claim
-- that is still running locks the row, so this statement waits for it.
with held as (
  select id from dogged.workers where id = $1::bigint and pid = $2::int and host = $3 and lease_ended_at is null for update
)
update dogged.workers w set lease_ended_at = clock_timestamp(), asleep = false from held where w.id = held.id
