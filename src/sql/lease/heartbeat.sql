-- Renews the lease of worker @worker_id and stores its counters @fenced and @abandoned_threads.
-- @is_stopping: the worker claims nothing more.
-- At the worker's last request its clock was @clock_ahead_ms ms ahead of this server's clock, give or take
-- @clock_uncertainty_ms ms.
-- now_us: the server's time, for the next such measurement. No row: the lease was ended.
-- gives: id bigint, now_us bigint
update dogged.workers
   set heartbeat_at = clock_timestamp(), lease_until = clock_timestamp() + lease_ms * interval '1 millisecond',
       stop_began_at = coalesce(stop_began_at, case when @is_stopping::boolean then clock_timestamp() end),
       fenced = @fenced::bigint, abandoned_threads = @abandoned_threads::int, clock_ahead_ms = @clock_ahead_ms::bigint,
       clock_uncertainty_ms = @clock_uncertainty_ms::bigint
 where id = @worker_id::bigint and lease_ended_at is null
returning id, (extract(epoch from clock_timestamp()) * 1000000)::bigint as now_us
