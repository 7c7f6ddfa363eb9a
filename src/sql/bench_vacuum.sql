-- As autovacuum would leave it after a while.
vacuum (analyze) dogged.tasks_live
