-- Saves where the loop @name of task @task_id goes on. Fenced as record_step.sql: there is no row unless worker @worker_id
-- runs attempt @attempt, and no later attempt has saved a place.
-- gives: id bigint
insert into dogged.task_checkpoints as c (task_id, name, attempt, value, saved_at)
select t.id, @name::text, t.attempt, @value::jsonb, clock_timestamp()
  from dogged.tasks_live t
 where t.id = @task_id::bigint and t.attempt = @attempt::int and t.worker_id = @worker_id::bigint
   and t.status = 'running'
    on conflict on constraint task_checkpoints_pkey do update
   set attempt = excluded.attempt, value = excluded.value, saved_at = excluded.saved_at
 where c.attempt <= excluded.attempt
returning c.task_id as id
