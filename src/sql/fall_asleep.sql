-- Worker $1 is about to wait for a notification.
update dogged.workers set asleep = true where id = $1::bigint and not asleep
