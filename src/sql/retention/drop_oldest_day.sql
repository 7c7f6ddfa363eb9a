-- Drops the oldest day of the table @table (tasks_done, tasks_failed, task_attempts) if its retention is over.
-- gives: partition text?, outcome text, rows_kept bigint?
select partition, outcome, rows_kept from dogged.drop_oldest_day(@table::text)
