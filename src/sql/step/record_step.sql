-- Records that step @name of task @task_id has ended with @result; it began @began_us_ago before now. Fenced: there is no
-- row unless worker @worker_id runs attempt @attempt. The task's row is not locked: a lock would hold up the report of
-- the attempt (complete.sql). So a worker that loses the task meanwhile may record its step all the same. Such a record
-- does no harm, because the record of the latest attempt counts (recorded_step.sql).
--
-- The statement does not look whether the step is on record already. That look locked each day's partition, and took a
-- third of the server's CPU for a step (docs/decisions/0017). A worker that did not get the answer asks before it sends
-- this again.
-- gives: id bigint
insert into dogged.task_steps (task_id, name, attempt, task_name, worker_id, started_at, finished_at, result)
select t.id, @name::text, t.attempt, t.name, t.worker_id, dogged.moment_ago(t.claimed_at, @began_us_ago::bigint),
       greatest(t.enqueued_at, t.claimed_at, clock_timestamp()), @result::jsonb
  from dogged.tasks_live t
 where t.id = @task_id::bigint and t.attempt = @attempt::int and t.worker_id = @worker_id::bigint
   and t.status = 'running'
returning task_id as id
