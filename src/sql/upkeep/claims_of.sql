-- The recorded claims of worker $1, with the number of tasks that each names.
select id, cardinality(task_ids) as tasks from dogged.claims where worker_id = $1::bigint order by id
