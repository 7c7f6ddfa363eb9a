-- The attempts of the worker named @worker_name, in the order in which they began: the attempts that the test kit's
-- drain has run. A handler's own attempt thus comes before the attempts of the tasks that it enqueued, though these may
-- end first.
-- gives: task_id bigint, name text, queue text, attempt int, outcome text, error_code text?, error_message text?
-- gives: will_retry boolean, delay_ms bigint?
select a.task_id, a.name, a.queue, a.attempt, a.outcome::text as outcome, a.error_code, a.error_message, a.will_retry, a.delay_ms
  from dogged.task_attempts a
  join dogged.workers w on w.id = a.worker_id
 where w.name = @worker_name::text
 order by a.started_at, a.task_id, a.attempt
