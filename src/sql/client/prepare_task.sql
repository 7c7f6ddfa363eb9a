-- Creates queue $2 (null: none) for task $1, and tells whether a worker has declared the task.
select dogged.prepare_task($1, $2) as is_declared
