-- In how many milliseconds the next lease lapses, unless it is renewed; null if there is none but that of worker $1.
select greatest(ceil(extract(epoch from min(lease_until) - clock_timestamp()) * 1000), 0)::bigint as lapses_in_ms
  from dogged.workers
 where lease_ended_at is null and id <> $1::bigint
