-- Registers a new run of a worker; the id of its row is its lease. now_us: the server's time. No row: another worker
-- that may be alive has the name. @args_versions: the args versions that the worker knows, for tasks where the version
-- is not 1.
-- gives: id bigint, now_us bigint
insert into dogged.workers (name, host, pid, version, queues, task_names, lease_ms, lease_until, args_versions)
values (@name::text, @host::text, @pid::int, @version::text, @queues::jsonb, @task_names::text[], @lease_ms::bigint,
        clock_timestamp() + @lease_ms::bigint * interval '1 millisecond', @args_versions::jsonb?)
    on conflict do nothing
returning id, (extract(epoch from clock_timestamp()) * 1000000)::bigint as now_us
