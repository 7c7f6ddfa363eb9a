-- Days of the table $1 (tasks_done, tasks_failed, task_attempts) of which retention has kept rows that are now too old.
select to_char(day, 'YYYY-MM-DD') as day from dogged.kept_days_to_thin($1) as day
