-- The recorded claims of worker @worker_id, with the number of tasks that each names.
-- gives: id bigint, tasks int
select id, cardinality(task_ids) as tasks from dogged.claims where worker_id = @worker_id::bigint order by id
