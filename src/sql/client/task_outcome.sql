-- The state of a task, for a client that waits for its end; no row if the task does not exist. The statement searches
-- the history only once the task has left the live table, because the history may have many partitions.
-- gives: id bigint, name text, status dogged.task_status, attempt int, result jsonb?, error_code text?, error_message text?
with live as materialized (
  select id, name, status, attempt, result, error_code, error_message from dogged.tasks_live where id = @task_id::bigint
)
select id, name, status, attempt, result::text as result, error_code, error_message from live
union all
select t.id, t.name, t.status, t.attempt, t.result::text, t.error_code, t.error_message
  from dogged.tasks t
 where t.id = @task_id::bigint and t.status not in ('pending', 'running') and not exists (select from live)
