-- Ensures that producer $1 has a row to lock. Waits for a first call that is still running.
select dogged.reserve_producer($1::uuid)
