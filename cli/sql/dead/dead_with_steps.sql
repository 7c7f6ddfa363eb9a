-- Whether one of the dead letters @ids that failed in the attempts @attempts has steps, or places of loops, on record that
-- count (recorded_step.sql, last_checkpoint.sql). Operators may not call steps_since, which those call.
-- gives: has_steps boolean
select exists (
  select from unnest(@ids::bigint[], @attempts::int[]) as a (id, attempt)
    join dogged.tasks_failed f on f.id = a.id and f.attempt = a.attempt
   cross join lateral (select coalesce(max(r.attempt), 0) as attempt from dogged.task_steps r
                        where r.task_id = f.id and r.name is null and r.finished_at >= f.enqueued_at) as since
   where f.id = any (@ids::bigint[])
     and (exists (select from dogged.task_steps s
                   where s.task_id = f.id and s.name is not null and s.finished_at >= f.enqueued_at
                     and s.attempt > since.attempt)
          or exists (select from dogged.task_checkpoints c where c.task_id = f.id and c.attempt > since.attempt))) as has_steps
