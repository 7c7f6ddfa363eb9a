-- Ensures that a producer has a row to lock. Waits for a first call that is still running.
-- gives: nothing
select dogged.reserve_producer(@producer::uuid)
