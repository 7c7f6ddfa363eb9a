-- The claims that worker $1 has on record, and how many tasks each names.
select id, cardinality(task_ids) as tasks from dogged.claims where worker_id = $1::bigint order by id
