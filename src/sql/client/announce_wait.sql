-- Tells the workers that a client waits for the end of task $1. The worker that ends the task then notifies
-- (notify_ended.sql).
select pg_notify('dogged.waiting', $1::bigint::text)
