-- Records that worker @worker_id stops in order and claims nothing more. A claim that is still running locks the row,
-- so this statement waits for it.
-- gives: nothing
with held as (
  select id from dogged.workers where id = @worker_id::bigint and lease_ended_at is null for update
)
update dogged.workers w
   set stop_began_at = coalesce(w.stop_began_at, clock_timestamp()), stopped_at = clock_timestamp(), asleep = false
  from held where w.id = held.id
