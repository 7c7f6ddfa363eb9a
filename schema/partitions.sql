-- dogged.partitions: the day partitions of the tables of ended tasks and attempts, and how long each is kept.

-- A tick that waits, and a row that stands for later ticks as well, keep their day. The ticks of the day are read only once the
-- day would be dropped otherwise.
create or replace function dogged.days_of_open_ticks(day date, keep_days integer) returns integer
language plpgsql stable security definer set search_path = pg_catalog, pg_temp as $$
declare
  today constant date := (clock_timestamp() at time zone 'UTC')::date;
begin
  if day + keep_days >= today then return 0; end if;
  return (select coalesce(max(case when t.outcome = 'waiting' then today else (t.skipped_until at time zone 'UTC')::date end), days_of_open_ticks.day)
                 - days_of_open_ticks.day
            from dogged.schedule_ticks t
           where t.scheduled_at >= day::timestamp at time zone 'UTC' and t.scheduled_at < (day + 1)::timestamp at time zone 'UTC'
             and (t.outcome = 'waiting' or t.skipped_until is not null));
end $$;
comment on function dogged.days_of_open_ticks(date, integer) is
  'Internal: for how many days more a day of ticks is kept, because a tick of it waits or a row of it stands for ticks up to a later day.';

create or replace view dogged.partitions as
select parent.relname::text as parent, part.relname::text as partition, days.day, days.is_kept,
       (days.day + 1 + case parent.relname
                         when 'tasks_done' then greatest(settings.keep_done_days, case when days.is_kept then longest.keep_done_days end)
                         when 'tasks_failed' then greatest(settings.keep_failed_days, case when days.is_kept then longest.keep_failed_days end)
                         when 'schedule_ticks' then settings.keep_ticks_days + dogged.days_of_open_ticks(days.day, settings.keep_ticks_days)
                         when 'events' then settings.keep_events_days
                         else settings.keep_attempts_days end)::timestamp at time zone 'UTC' as kept_until,
       pg_table_size(part.oid) + pg_indexes_size(part.oid) as bytes
  from dogged.settings
 cross join (select max(q.keep_done_days) as keep_done_days, max(q.keep_failed_days) as keep_failed_days from dogged.queues q) as longest
  join pg_class parent on parent.oid in ('dogged.tasks_done'::regclass, 'dogged.tasks_failed'::regclass, 'dogged.task_attempts'::regclass,
                                   'dogged.task_steps'::regclass, 'dogged.schedule_ticks'::regclass, 'dogged.events'::regclass)
  join pg_inherits on inhparent = parent.oid
  join pg_class part on part.oid = inhrelid and part.relname ~ '_[0-9]{8}$'
 cross join lateral (select to_date(right(part.relname, 8), 'YYYYMMDD') as day, part.relname ~ '_kept_' as is_kept) as days;
comment on view dogged.partitions is
  'One row for each day (UTC) of tasks_done, tasks_failed, task_attempts, task_steps, schedule_ticks and events. Retention drops the '
  'day after kept_until. In a smaller partition (is_kept), retention keeps tasks of queues with a longer setting, and attempts and steps '
  'whose task still exists.';
comment on column dogged.partitions.parent is 'tasks_done, tasks_failed, task_attempts, task_steps, schedule_ticks or events.';
comment on column dogged.partitions.partition is 'The name of the table that holds the day.';
comment on column dogged.partitions.day is 'The day of finished_at (of a tick: of scheduled_at; of an event: of emitted_at), in UTC.';
comment on column dogged.partitions.is_kept is 'Whether the partition holds only the rows that retention has kept of its day.';
comment on column dogged.partitions.kept_until is
  'When the day is old enough to be dropped; for kept tasks, when the last of them are old enough. A day of ticks stays while one of them '
  'waits, and as long as the last of the ticks that one of its rows stands for.';
comment on column dogged.partitions.bytes is 'The size of the table and its indexes.';
