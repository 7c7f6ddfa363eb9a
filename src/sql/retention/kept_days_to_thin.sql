-- Days of the table @table (tasks_done, tasks_failed, task_attempts) with kept rows that are too old now.
-- gives: day text
select to_char(day, 'YYYY-MM-DD') as day from dogged.kept_days_to_thin(@table::text) as day
