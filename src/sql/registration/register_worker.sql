-- Registers a new run of a worker; the id of its row is its lease. now_us: the server's time. No row: another worker
-- that may be alive has the name. $8: the args versions that the worker knows, for tasks where the version is not 1.
insert into dogged.workers (name, host, pid, version, queues, task_names, lease_ms, lease_until, args_versions)
values ($1, $2, $3::int, $4, $5::jsonb, $6::text[], $7::bigint, clock_timestamp() + $7::bigint * interval '1 millisecond', $8::jsonb)
    on conflict do nothing
returning id, (extract(epoch from clock_timestamp()) * 1000000)::bigint as now_us
