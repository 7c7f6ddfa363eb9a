-- The steps of task @task_id that have ended, in the order in which they began. The first @most of them.
-- gives: name text, attempt int, counts boolean, result jsonb, worker text?, started_at_us bigint, finished_at_us bigint
select s.name, s.attempt, s.counts, s.result::text as result, s.worker,
       (extract(epoch from s.started_at) * 1000000)::bigint as started_at_us,
       (extract(epoch from s.finished_at) * 1000000)::bigint as finished_at_us
  from dogged.task_steps_overview s
 where s.task_id = @task_id::bigint
 order by s.started_at, s.finished_at, s.name
 limit @most::int
