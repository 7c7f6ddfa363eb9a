-- Renews the lease of worker $1, and tells what it counts. No row: the lease was ended.
update dogged.workers
   set heartbeat_at = clock_timestamp(), lease_until = clock_timestamp() + lease_ms * interval '1 millisecond',
       fenced = $2::bigint, abandoned_threads = $3::int
 where id = $1::bigint and lease_ended_at is null
returning id
