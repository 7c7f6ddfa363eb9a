-- The worker that holds the name @name, and when it last renewed its lease.
-- gives: id bigint, host text, pid int, heartbeat_at_us bigint, lapses_in_ms bigint
select id, host, pid, (extract(epoch from heartbeat_at) * 1000000)::bigint as heartbeat_at_us,
       greatest(ceil(extract(epoch from lease_until - clock_timestamp()) * 1000), 0)::bigint as lapses_in_ms
  from dogged.workers
 where name = @name::text and lease_ended_at is null and stopped_at is null
