-- The names of the steps of task @task_id that are on record and count (recorded_step.sql), @most of them at most. Fenced as
-- recorded_step.sql. One row without a name: no step is on record.
-- gives: name text?
select s.name
  from dogged.tasks_live t
  left join lateral (select distinct r.name
                       from dogged.task_steps r
                      where r.task_id = t.id and r.name is not null and r.finished_at >= t.enqueued_at
                        and r.attempt > dogged.steps_since(t.id, t.enqueued_at)
                      limit @most::bigint) s on true
 where t.id = @task_id::bigint and t.attempt = @attempt::int and t.worker_id = @worker_id::bigint
   and t.status = 'running'
