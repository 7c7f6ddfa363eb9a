-- The result of step @name of task @task_id, if an earlier attempt has recorded it. Fenced: there is no row unless worker
-- @worker_id runs attempt @attempt. A row without a name belongs to a replay: steps of attempts up to that one do not
-- count. No step is recorded as ended before its task was enqueued (task_steps.finished_at), so only the days since then
-- are read.
-- gives: result text?
select (select s.result::text
          from dogged.task_steps s
         where s.task_id = t.id and s.name = @name::text and s.finished_at >= t.enqueued_at
           and s.attempt > dogged.steps_since(t.id, t.enqueued_at)
         order by s.attempt desc
         limit 1) as result
  from dogged.tasks_live t
 where t.id = @task_id::bigint and t.attempt = @attempt::int and t.worker_id = @worker_id::bigint
   and t.status = 'running'
