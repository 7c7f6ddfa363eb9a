-- The name of every task that a worker has declared.
select name from dogged.task_definitions order by name
