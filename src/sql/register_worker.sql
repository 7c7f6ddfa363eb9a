-- A new worker: its row, whose id is its lease.
insert into dogged.workers (name, host, pid, version, queues, task_names)
values ($1, $2, $3::int, $4, $5::jsonb, $6::text[])
returning id
