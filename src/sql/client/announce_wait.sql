-- Tells the workers that a client waits for the end of a task. The worker that ends the task then notifies
-- (notify_ended.sql).
-- gives: nothing
select pg_notify('dogged.waiting', @task_id::bigint::text)
