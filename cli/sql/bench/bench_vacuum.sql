-- Brings the table into the state in which autovacuum would leave it after a while.
-- gives: nothing
vacuum (analyze) dogged.tasks_live
