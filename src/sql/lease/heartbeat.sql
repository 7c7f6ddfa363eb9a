-- Renews the lease of worker $1 and stores its counters: $2 fenced, $3 abandoned threads. At the worker's last request
-- its clock was $4 ms ahead of this server's clock, give or take $5 ms. now_us: the server's time, for the next such
-- measurement. No row: the lease was ended.
update dogged.workers
   set heartbeat_at = clock_timestamp(), lease_until = clock_timestamp() + lease_ms * interval '1 millisecond',
       fenced = $2::bigint, abandoned_threads = $3::int, clock_ahead_ms = $4::bigint, clock_uncertainty_ms = $5::bigint
 where id = $1::bigint and lease_ended_at is null
returning id, (extract(epoch from clock_timestamp()) * 1000000)::bigint as now_us
