-- The last progress that the handler of task @task_id has reported, for a client that waits; no row if it has reported
-- none.
-- gives: attempt int, fraction float8?, message text, reported_at_us bigint
select p.attempt, p.fraction, p.message, (extract(epoch from p.reported_at) * 1000000)::bigint as reported_at_us
  from dogged.task_progress p
 where p.task_id = @task_id::bigint
