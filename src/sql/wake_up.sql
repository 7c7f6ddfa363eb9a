-- Worker $1 is busy and needs no notification: enqueue then sends none.
update dogged.workers set asleep = false where id = $1::bigint and asleep
