-- Copies the column comments of tasks, task_attempts and task_steps to their partitions, so that \d+ of each partition shows them.
-- The partitions of days come and go, and get no comments.
do $$
declare
  part record;
begin
  for part in
    select c.oid::regclass as name, a.attname as column_name, col_description(a.attrelid, a.attnum) as meaning
      from (values ('dogged.tasks'::regclass, 'dogged.tasks_live'::regclass), ('dogged.tasks', 'dogged.tasks_failed'),
                   ('dogged.tasks', 'dogged.tasks_failed_default'), ('dogged.tasks', 'dogged.tasks_done'),
                   ('dogged.tasks', 'dogged.tasks_done_default'), ('dogged.task_attempts', 'dogged.task_attempts_default'),
                   ('dogged.task_steps', 'dogged.task_steps_default'),
                   ('dogged.schedule_ticks', 'dogged.schedule_ticks_default'),
                   ('dogged.events', 'dogged.events_default'))
             as consists (whole, part)
      join pg_class c on c.oid = consists.part
      join pg_attribute a on a.attrelid = consists.whole and a.attnum > 0 and not a.attisdropped
  loop
    execute format('comment on column %s.%I is %L', part.name, part.column_name, part.meaning);
  end loop;
end $$;
