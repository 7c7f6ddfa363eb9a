-- Brings the table into the state in which autovacuum would leave it after a while.
vacuum (analyze) dogged.tasks_live
