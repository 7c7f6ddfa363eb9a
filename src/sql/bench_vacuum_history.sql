-- A history that was there for days is vacuumed.
vacuum (analyze) dogged.tasks, dogged.task_attempts
