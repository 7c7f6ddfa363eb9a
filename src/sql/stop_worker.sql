-- Worker $1 ended in order.
update dogged.workers set stopped_at = clock_timestamp(), asleep = false where id = $1::bigint
