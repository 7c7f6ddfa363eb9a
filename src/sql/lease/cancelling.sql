-- Tasks that run under worker $1 and whose cancellation was requested.
select id, attempt
  from dogged.tasks_live
 where worker_id = $1::bigint and status = 'running' and cancel_requested_at is not null
