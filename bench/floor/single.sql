-- pgbench: the row of a task, and no more.
insert into floor.tasks_live (queue, name, args) values ('bench', 'bench', '{}');
