-- Clears the asleep flag of worker @worker_id, which is busy and needs no notification. Enqueue then sends none.
-- gives: nothing
update dogged.workers set asleep = false where id = @worker_id::bigint and asleep
