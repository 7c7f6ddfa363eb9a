-- Counts for each table with day partitions. missing: the coming days without a partition. missing_now: of these, today
-- and tomorrow. overdue: days that retention should have dropped more than a day ago. default_rows: rows in the default
-- partition, up to a million.
-- The settings are not joined: PostgreSQL takes them for 720 rows, and compiled the statement for 1.3 s (jit).
-- gives: parent text, missing bigint, missing_now bigint, overdue bigint, default_rows bigint
select tables.name as parent,
       (select count(*) from generate_series(0, (select partition_days_ahead from dogged.settings)) as days
         where not exists (select from dogged.partitions p where p.parent = tables.name and p.day = tables.today + days)) as missing,
       (select count(*) from generate_series(0, 1) as days
         where not exists (select from dogged.partitions p where p.parent = tables.name and p.day = tables.today + days)) as missing_now,
       (select count(*) from dogged.partitions p
         where p.parent = tables.name and not (p.is_kept and p.parent in ('task_attempts', 'task_steps'))
           and p.kept_until < clock_timestamp() - interval '1 day') as overdue,
       case tables.name
         when 'tasks_done' then (select count(*) from (select from dogged.tasks_done_default limit 1000000) as counted)
         when 'tasks_failed' then (select count(*) from (select from dogged.tasks_failed_default limit 1000000) as counted)
         when 'task_steps' then (select count(*) from (select from dogged.task_steps_default limit 1000000) as counted)
         when 'schedule_ticks' then (select count(*) from (select from dogged.schedule_ticks_default limit 1000000) as counted)
         when 'events' then (select count(*) from (select from dogged.events_default limit 1000000) as counted)
         else (select count(*) from (select from dogged.task_attempts_default limit 1000000) as counted)
       end as default_rows
  from (select unnest(array['tasks_done', 'tasks_failed', 'task_attempts', 'task_steps', 'schedule_ticks', 'events']) as name,
               (clock_timestamp() at time zone 'UTC')::date as today) as tables
