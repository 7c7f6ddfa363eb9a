-- Worker $1 is about to wait for a notification. Not if its lease has ended: nobody would ever wake that row, and every
-- enqueue would notify it.
update dogged.workers set asleep = true where id = $1::bigint and not asleep and lease_ended_at is null and stopped_at is null
