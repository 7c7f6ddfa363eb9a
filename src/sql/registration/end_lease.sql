-- Ends the worker's own lease @worker_id, which it could not keep, or which it had before it restarted itself. The row
-- must still name process @pid on host @host: after a failover the new server may have given the id to another worker.
-- A claim that is still running locks the row, so this statement waits for it.
-- gives: nothing
with held as (
  select id from dogged.workers
   where id = @worker_id::bigint and pid = @pid::int and host = @host::text and lease_ended_at is null
     for update
)
update dogged.workers w set lease_ended_at = clock_timestamp(), asleep = false from held where w.id = held.id
