-- Marks worker @worker_id as asleep before it waits for a notification. A worker whose lease has ended is not marked:
-- nothing would ever clear that row's flag, and every enqueue would notify it.
-- gives: nothing
update dogged.workers
   set asleep = true
 where id = @worker_id::bigint and not asleep and lease_ended_at is null and stopped_at is null
