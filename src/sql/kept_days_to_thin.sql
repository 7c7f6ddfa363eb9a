-- The days of the table $1 (tasks_done, tasks_failed, task_attempts) of which retention has left what is not to be kept any more.
select day::text as day from dogged.kept_days_to_thin($1) as day
