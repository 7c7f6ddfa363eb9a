-- Writes what handlers have said last of their progress: the part that is done in @millionths, and @messages. Attempts
-- @attempts of tasks @ids said so @ages_us before now. Fenced: the values of an attempt that another one has followed
-- change nothing. A task that has succeeded needs no progress, and gets no row.
-- gives: nothing
insert into dogged.task_progress as p (task_id, attempt, fraction, message, reported_at)
select said.id, said.attempt, said.millionths / 1000000.0, said.message,
       clock_timestamp() - said.age_us * interval '1 microsecond'
  from unnest(@ids::bigint[], @attempts::int[], @millionths::bigint?[], @messages::text[], @ages_us::bigint[])
         as said (id, attempt, millionths, message, age_us)
 where exists (select from dogged.tasks_live t where t.id = said.id and t.attempt = said.attempt)
    or exists (select from dogged.tasks_failed t where t.id = said.id and t.attempt = said.attempt)
    on conflict on constraint task_progress_pkey do update
   set attempt = excluded.attempt, fraction = excluded.fraction, message = excluded.message,
       reported_at = excluded.reported_at
 where p.attempt <= excluded.attempt
