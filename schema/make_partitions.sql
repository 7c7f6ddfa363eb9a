-- dogged.make_partitions() creates partitions by day for task_attempts, task_steps, tasks_done, tasks_failed,
-- schedule_ticks and events, from yesterday to settings.partition_days_ahead days ahead. Workers call it when they start and every
-- hour; `dogged migrate` calls it too.
--
-- A day is a day in UTC. Rows whose day was missing are moved out of the default partition, also for older days.
-- Retention drops days, and would never find these rows in the default partition. No statement waits for long:
-- attaching needs a short exclusive lock on the default partition. If a long query holds that partition, a later call
-- creates the days, and completions go on into the default partition.

create or replace function dogged.moment_of_partitions(parent text) returns text
language sql immutable return case parent when 'schedule_ticks' then 'scheduled_at'
                                                 when 'events' then 'emitted_at' else 'finished_at' end;
comment on function dogged.moment_of_partitions(text) is 'Internal: the column by whose day a table of the history is partitioned.';

-- The function writes the bounds of a partition as text. With another style of dates, PostgreSQL would read other times. The
-- same holds for an ambiguous name of a time zone, such as IST. The next day would overlap then.
create or replace function dogged.make_partition(parent text, day date) returns boolean
language plpgsql set search_path = pg_catalog, pg_temp set datestyle = 'ISO' set timezone = 'UTC' set lock_timeout = '500ms' as $$
declare
  partition_name constant text := format('%s_%s', parent, to_char(day, 'YYYYMMDD'));
  from_time constant timestamptz := day::timestamp at time zone 'UTC';
  to_time constant timestamptz := (day + 1)::timestamp at time zone 'UTC';
  moment constant text := dogged.moment_of_partitions(parent);
begin
  if to_regclass('dogged.' || partition_name) is not null
     or to_regclass(format('dogged.%s_kept_%s', parent, to_char(day, 'YYYYMMDD'))) is not null then  -- see retention.sql
    return false;
  end if;
  -- Creates a separate table and then attaches it: CREATE TABLE … PARTITION OF would lock the parent against all
  -- others.
  execute format('create table dogged.%I (like dogged.%I including defaults including constraints including storage)',
                 partition_name, parent);
  execute format('lock table dogged.%I in access exclusive mode', parent || '_default');
  execute format('alter table dogged.%I disable trigger user', parent || '_default');
  execute format('with moved as (delete from dogged.%1$I where %2$I >= %3$L and %2$I < %4$L returning *)
                  insert into dogged.%5$I select * from moved',
                 parent || '_default', moment, from_time, to_time, partition_name);
  execute format('alter table dogged.%I enable trigger user', parent || '_default');
  execute format('alter table dogged.%I attach partition dogged.%I for values from (%L) to (%L)',
                 parent, partition_name, from_time, to_time);
  if parent in ('task_attempts', 'task_steps') then
    execute format('create trigger refuse_truncate before truncate on dogged.%I
                    execute function dogged.refuse_change_of_history()', partition_name);
  end if;
  return true;
end $$;
comment on function dogged.make_partition(text, date) is
  'Internal: creates one day''s partition of a table of the history; false if the partition exists. Raises '
  'lock_not_available if the default partition is in use for longer than 500 ms.';

create or replace function dogged.days_to_make(parent text) returns setof date
language plpgsql set search_path = pg_catalog, pg_temp set enable_seqscan = on as $$
declare
  today constant date := (clock_timestamp() at time zone 'UTC')::date;
begin
  return query select today + days from generate_series(-1, (select partition_days_ahead from dogged.settings)) as days;
  -- At most 31 days in one call, the latest first. Rows older than every retention period stay where they are. A wrong
  -- clock or a worker's login may have written them, and their days would need thousands of partitions.
  return query execute format(
    'select distinct (d.%1$I at time zone ''UTC'')::date as day
       from dogged.%2$I d
      where d.%1$I >= $1 and d.%1$I < $2
      order by day desc limit 31', dogged.moment_of_partitions(parent), parent || '_default')
    using (today - 31 - (select greatest(s.keep_done_days, s.keep_failed_days, s.keep_attempts_days, s.keep_ticks_days, s.keep_events_days,
                                         (select max(greatest(q.keep_done_days, q.keep_failed_days)) from dogged.queues q))
                           from dogged.settings s))::timestamp at time zone 'UTC',
          (today - 1)::timestamp at time zone 'UTC';
end $$;
comment on function dogged.days_to_make(text) is
  'Internal: the days for which a partitioned table needs a partition: the coming days, and older days with rows in its default '
  'partition.';

-- Runs as the owner: workers call it, but may not create tables.
create or replace function dogged.make_partitions() returns integer
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  made integer := 0;
  made_of_parent integer;
  parent text;
  day date;
begin
  perform from dogged.locks l where l.name = 'partitions' for update skip locked;
  if not found then
    return 0;  -- another worker or retention has the lock
  end if;
  foreach parent in array array['task_attempts', 'task_steps', 'tasks_done', 'tasks_failed', 'schedule_ticks', 'events'] loop
    begin
      made_of_parent := 0;
      for day in select dogged.days_to_make(parent) loop
        made_of_parent := made_of_parent + dogged.make_partition(parent, day)::integer;
      end loop;
      made := made + made_of_parent;
    exception when lock_not_available then
      null;  -- a reader is at work; each day of this table needs the same lock, so the next call makes them
    end;
  end loop;
  return made;
end $$;
comment on function dogged.make_partitions() is
  'Creates the missing partitions of the coming days, and returns their number; 0 while another call holds the lock. Safe to call '
  'at any time.';
