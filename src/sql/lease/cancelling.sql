-- Tasks that run under worker @worker_id and whose cancellation was requested.
-- gives: id bigint, attempt int
select id, attempt
  from dogged.tasks_live
 where worker_id = @worker_id::bigint and status = 'running' and cancel_requested_at is not null
