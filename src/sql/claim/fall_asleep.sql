-- Marks worker $1 as asleep before it waits for a notification. A worker whose lease has ended is not marked: nothing
-- would ever clear that row's flag, and every enqueue would notify it.
update dogged.workers set asleep = true where id = $1::bigint and not asleep and lease_ended_at is null and stopped_at is null
