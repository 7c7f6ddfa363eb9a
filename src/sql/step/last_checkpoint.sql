-- The point where the loop @name of task @task_id goes on. No row unless an attempt has saved one since the task was
-- last replayed to run its steps again. Fenced as recorded_step.sql.
-- gives: value text?
select (select c.value::text from dogged.task_checkpoints c
         where c.task_id = t.id and c.name = @name::text and c.attempt > dogged.steps_since(t.id, t.enqueued_at)) as value
  from dogged.tasks_live t
 where t.id = @task_id::bigint and t.attempt = @attempt::int and t.worker_id = @worker_id::bigint
   and t.status = 'running'
