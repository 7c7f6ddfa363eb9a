-- Vacuums the history, as autovacuum would have done over several days.
vacuum (analyze) dogged.tasks, dogged.task_attempts
