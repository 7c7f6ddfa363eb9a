-- The name of every task that a worker has declared.
-- gives: name text
select name from dogged.task_definitions order by name
