-- A new run of a worker: its row, whose id is its lease. now_us: the time of the server. No row where another
-- worker that may live has the name.
insert into dogged.workers (name, host, pid, version, queues, task_names, lease_ms, lease_until)
values ($1, $2, $3::int, $4, $5::jsonb, $6::text[], $7::bigint, clock_timestamp() + $7::bigint * interval '1 millisecond')
    on conflict do nothing
returning id, (extract(epoch from clock_timestamp()) * 1000000)::bigint as now_us
