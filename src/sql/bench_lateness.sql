-- By how many milliseconds the attempts of the tasks with ids from $1 to $2 began after they were due: first attempts after
-- run_at, retries after the time that the attempt before had set.
select a.attempt > 1 as is_retry,
       (extract(epoch from a.started_at - coalesce(before.next_retry_at, t.run_at)) * 1000)::float8 as late_ms
  from dogged.task_attempts a
  join dogged.tasks t on t.id = a.task_id
  left join dogged.task_attempts before on before.task_id = a.task_id and before.attempt = a.attempt - 1
 where a.task_id between $1::bigint and $2::bigint
