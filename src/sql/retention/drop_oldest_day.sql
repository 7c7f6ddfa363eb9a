-- Drops the oldest day of the table $1 (tasks_done, tasks_failed, task_attempts) if its retention is over.
select partition, outcome, rows_kept from dogged.drop_oldest_day($1)
