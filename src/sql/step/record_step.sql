-- Records that step @name of task @task_id has ended with @result; it began @began_us_ago before now. Fenced: there is no
-- row unless worker @worker_id runs attempt @attempt. A step that is on record already, because the answer to the first
-- sending was lost, is not recorded again. The task's row is not locked: a lock would hold up the report of the attempt
-- (complete.sql). So a worker that loses the task meanwhile may record its step all the same. That does no harm, because
-- the record of the latest attempt counts (recorded_step.sql).
-- gives: id bigint
with held as (
  select t.id, t.attempt, t.name, t.worker_id, t.claimed_at
    from dogged.tasks_live t
   where t.id = @task_id::bigint and t.attempt = @attempt::int and t.worker_id = @worker_id::bigint
     and t.status = 'running'
), recorded as (
  insert into dogged.task_steps (task_id, name, attempt, task_name, worker_id, started_at, finished_at, result)
  select h.id, @name::text, h.attempt, h.name, h.worker_id, dogged.moment_ago(h.claimed_at, @began_us_ago::bigint),
         greatest(h.claimed_at, clock_timestamp()), @result::jsonb
    from held h
   where not exists (select from dogged.task_steps s
                      where s.task_id = h.id and s.name = @name and s.attempt = h.attempt
                        and s.finished_at >= h.claimed_at and s.finished_at < now() + interval '1 day')
)
select h.id from held h
