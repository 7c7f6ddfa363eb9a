-- How many of the dead letters @ids that failed in the attempts @attempts have steps, or places of loops, on record that
-- count (recorded_step.sql, last_checkpoint.sql).
-- gives: count bigint
select count(*) as count
  from unnest(@ids::bigint[], @attempts::int[]) as a (id, attempt)
  join dogged.tasks_failed f on f.id = a.id and f.attempt = a.attempt
 where f.id = any (@ids::bigint[])
   and (exists (select from dogged.task_steps s
                 where s.task_id = f.id and s.name is not null and s.finished_at >= f.enqueued_at - interval '1 day'
                   and s.attempt > dogged.steps_since(f.id, f.enqueued_at))
        or exists (select from dogged.task_checkpoints c
                    where c.task_id = f.id and c.attempt > dogged.steps_since(f.id, f.enqueued_at)))
