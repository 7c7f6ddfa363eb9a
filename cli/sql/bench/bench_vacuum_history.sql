-- Vacuums the history, as autovacuum would have done over several days.
-- gives: nothing
vacuum (analyze) dogged.tasks, dogged.task_attempts
