-- Clears the asleep flag of worker $1, which is busy and needs no notification. Enqueue then sends none.
update dogged.workers set asleep = false where id = $1::bigint and asleep
