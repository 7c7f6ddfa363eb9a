-- Milliseconds between the due time and the start of each attempt of the tasks with ids from @first_id to @last_id.
-- A first attempt is due at run_at, a retry at the time that the previous attempt set.
-- gives: is_retry boolean, late_ms float8
select a.attempt > 1 as is_retry,
       (extract(epoch from a.started_at - coalesce(before.next_retry_at, t.run_at)) * 1000)::float8 as late_ms
  from dogged.task_attempts a
  join dogged.tasks t on t.id = a.task_id
  left join dogged.task_attempts before on before.task_id = a.task_id and before.attempt = a.attempt - 1
 where a.task_id between @first_id::bigint and @last_id::bigint
