-- pgbench: the rows of 1000 tasks, and no more.
insert into floor.tasks_live (queue, name, args) select 'bench', 'bench', '{}' from generate_series(1, 1000);
