-- The result of step @name of task @task_id, and the attempt that has recorded it, if one has. Fenced: there is no row unless worker
-- @worker_id runs attempt @attempt. A row without a name belongs to a replay: steps of attempts up to that one do not
-- count. No step is recorded as ended before its task was enqueued (task_steps.finished_at), so only the days since then
-- are read.
-- waits_for: the name is on record for a wait of this kind; null: for a step.
-- gives: result text?, attempt int?, waits_for text?
select s.result::text as result, s.attempt, s.waits_for
  from dogged.tasks_live t
  left join lateral (select r.result, r.attempt, r.waits_for
                       from dogged.task_steps r
                      where r.task_id = t.id and r.name = @name::text and r.finished_at >= t.enqueued_at
                        and r.attempt > dogged.steps_since(t.id, t.enqueued_at)
                      order by r.attempt desc
                      limit 1) s on true
 where t.id = @task_id::bigint and t.attempt = @attempt::int and t.worker_id = @worker_id::bigint
   and t.status = 'running'
