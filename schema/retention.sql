-- Retention drops days that are older than settings.keep_…_days, as whole partitions. No single row is deleted, so
-- nothing needs vacuum. A day of millions of rows goes as fast as a file is removed. Workers call these functions every
-- hour, users call them by `dogged maintain`. Each call does one step and reports it, so that no lock is held from one
-- step to the next.
--
-- Dropping a partition needs an exclusive lock on its parent for a moment. Completions write to that table all the time
-- and must not queue behind a step that waits for a long query. So a step waits 200 ms at most, and then changes
-- nothing; a later call does it.
--
-- Of a day of tasks, retention keeps those of queues with a longer setting of their own (queues.keep_…_days). Of a day
-- of attempts or steps, retention keeps those whose task still exists. Such a task is a dead letter, has not ended, ended
-- on a later day, or is kept longer. The kept rows are copied into a table of their own that replaces the day
-- (tasks_done_kept_YYYYMMDD). So rows of the history are dropped, or copied unchanged, and no row is ever updated or
-- deleted. Rows that need not be kept any longer go with the next thinning (dogged.thin_kept_day).

create or replace function dogged.require_read_committed() returns void
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
begin
  if current_setting('transaction_isolation') <> 'read committed' then
    raise exception 'retention needs the isolation read committed, and this transaction is %', current_setting('transaction_isolation')
      using errcode = 'invalid_transaction_state',
            hint = 'Nothing was changed. Call it outside a transaction, and let default_transaction_isolation of the role be read committed.';
  end if;
end $$;
comment on function dogged.require_read_committed() is
  'Raises an error in a transaction that would not see what was committed while it waited for a lock.';

create or replace function dogged.queues_keeping(parent text, day date) returns text[]
language sql stable set search_path = pg_catalog, pg_temp as $$
  select coalesce(array_agg(q.name), '{}')
    from dogged.queues q cross join dogged.settings s
   where (day + 1 + case parent when 'tasks_done' then greatest(s.keep_done_days, q.keep_done_days)
                                else greatest(s.keep_failed_days, q.keep_failed_days) end)::timestamp at time zone 'UTC'
         > clock_timestamp()
$$;
comment on function dogged.queues_keeping(text, date) is 'The queues whose tasks in this day of tasks_done or tasks_failed are to be kept now.';

create or replace function dogged.make_kept_tasks(parent text, source text, day date) returns bigint
language plpgsql set search_path = pg_catalog, pg_temp set enable_seqscan = on set jit = off as $$
declare
  copied bigint;
begin
  execute format('create table dogged.%I (like dogged.%I including defaults including constraints including storage including indexes)',
                 parent || '_next', parent);
  execute format('insert into dogged.%I select t.* from dogged.%I t where t.queue = any ($1)', parent || '_next', source)
    using dogged.queues_keeping(parent, day);
  get diagnostics copied = row_count;
  return copied;
end $$;
comment on function dogged.make_kept_tasks(text, text, date) is
  'Creates tasks_done_next or tasks_failed_next from the rows of one partition whose queues keep them longer; returns their '
  'number.';

-- random_page_cost: tasks that failed on one day have neighbouring ids, and so do their attempts. With the default of
-- 4, PostgreSQL would read a day of millions completely for a few thousand of its rows. jit: with a month of days,
-- compilation takes seconds.
create or replace function dogged.make_kept_history(parent text, source text, day date) returns bigint
language plpgsql set search_path = pg_catalog, pg_temp set datestyle = 'ISO' set timezone = 'UTC' set enable_seqscan = on
set plan_cache_mode = auto set random_page_cost = 1.1 set jit = off as $$
declare
  from_time constant timestamptz := day::timestamp at time zone 'UTC';
  to_time constant timestamptz := (day + 1)::timestamp at time zone 'UTC';
  copied bigint;
begin
  execute format('create table dogged.%I (like dogged.%I including defaults including constraints including storage)',
                 parent || '_next', parent);
  -- A task ends with its last attempt, so a dead letter of an earlier day has no attempt in this one. One day of margin
  -- allows for a clock that was set back.
  execute format(
    'insert into dogged.%4$I
     select a.* from dogged.%1$I a
      where a.task_id in (select f.id from dogged.tasks_failed f where f.finished_at >= %2$L or f.finished_at is null
                           union all
                          select t.id from dogged.tasks_live t where t.attempt > 0
                           union all
                          %5$s
                           union all
                          select d.id from dogged.tasks_done d where d.finished_at >= %2$L and d.finished_at < %3$L)',
    source, from_time - interval '1 day', to_time, parent || '_next',
    case parent
      when 'task_attempts' then  -- all attempts of a task that succeeded at once are of the day of its end
        format('select d.id from dogged.tasks_done d
                 where d.enqueued_at < %1$L and d.finished_at >= %1$L
                   and d.attempt > 0 and (d.attempt > 1 or d.status <> ''succeeded'')
                   and (d.finished_at at time zone ''UTC'')::date > (d.enqueued_at at time zone ''UTC'')::date', to_time)
      else  -- a task that succeeded at once may have steps of another day than its end
        format('select s.task_id from (select distinct task_id from dogged.%1$I) s
                 where exists (select from dogged.tasks_done d
                                where d.id = s.task_id and d.enqueued_at < %2$L and d.finished_at >= %2$L)', source, to_time)
    end);
  get diagnostics copied = row_count;
  execute format('create index on dogged.%I (task_id, %I)', parent || '_next',
                 case parent when 'task_attempts' then 'attempt' else 'name' end);
  return copied;
end $$;
comment on function dogged.make_kept_history(text, text, date) is
  'Creates task_attempts_next or task_steps_next from rows of one partition; returns their number. The task of such a row is '
  'failed, pending or running, ended otherwise on a later day, or is kept longer.';

create or replace function dogged.replace_day(parent text, source text, day date, has_rows boolean) returns void
language plpgsql set search_path = pg_catalog, pg_temp set datestyle = 'ISO' set timezone = 'UTC' as $$
declare
  next constant text := parent || '_next';
  kept constant text := format('%s_kept_%s', parent, to_char(day, 'YYYYMMDD'));
begin
  -- Proves the range of the rows to ATTACH, so that ATTACH does not read the rows.
  execute format('alter table dogged.%I add constraint of_day check (%s)', next,
                 pg_get_partition_constraintdef(format('dogged.%I', source)::regclass));
  execute format('lock table only dogged.%I in access exclusive mode', parent);
  execute format('drop table dogged.%I', source);
  if not has_rows then
    execute format('drop table dogged.%I', next);
    return;
  end if;
  execute format('alter table dogged.%I rename to %I', next, kept);
  execute format('alter table dogged.%I attach partition dogged.%I for values from (%L) to (%L)', parent, kept,
                 day::timestamp at time zone 'UTC', (day + 1)::timestamp at time zone 'UTC');
  execute format('alter table dogged.%I drop constraint of_day', kept);
  if parent in ('task_attempts', 'task_steps') then
    execute format('create trigger refuse_truncate before truncate on dogged.%I
                    execute function dogged.refuse_change_of_history()', kept);
  end if;
end $$;
comment on function dogged.replace_day(text, text, date, boolean) is
  'Replaces one partition by the table …_next, or drops both if that table has no rows.';

create or replace function dogged.keep_rows_of_day(parent text, source text, day date) returns bigint
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  kept bigint;
begin
  -- A late write is not lost: its transaction has locked the parent already, so this step is postponed.
  execute format('lock table dogged.%I in share mode', source);
  kept := case when parent in ('task_attempts', 'task_steps') then dogged.make_kept_history(parent, source, day)
               else dogged.make_kept_tasks(parent, source, day) end;
  perform dogged.replace_day(parent, source, day, kept > 0);
  return kept;
end $$;
comment on function dogged.keep_rows_of_day(text, text, date) is
  'Leaves of one partition only the rows to be kept, or drops the partition if there are none; returns the number of rows. Raises '
  'lock_not_available if the table was in use for longer than lock_timeout.';

create or replace function dogged.drop_oldest_day(parent text, out partition text, out outcome text, out rows_kept bigint)
language plpgsql security definer set search_path = pg_catalog, pg_temp set lock_timeout = '200ms' as $$
declare
  due record;
begin
  if parent is null or parent not in ('tasks_done', 'tasks_failed', 'task_attempts', 'task_steps', 'schedule_ticks', 'events') then
    raise exception '% is not a table that retention drops days of', coalesce(quote_literal(parent), 'null')
      using errcode = 'invalid_parameter_value', hint = 'Write tasks_done, tasks_failed, task_attempts, task_steps, schedule_ticks or events. Nothing was dropped.';
  end if;
  perform dogged.require_read_committed();
  perform from dogged.locks l where l.name = 'partitions' for update skip locked;
  if not found then
    outcome := 'busy';
    return;
  end if;
  select p.partition, p.day into due
    from dogged.partitions p
   where p.parent = drop_oldest_day.parent and not p.is_kept and p.kept_until <= clock_timestamp()
   order by p.day limit 1;
  if not found then
    outcome := 'nothing';
    return;
  end if;
  partition := due.partition;
  -- Attempts and steps wait while tasks of that day still exist, because their own day could not be dropped.
  if parent in ('task_attempts', 'task_steps') and exists (
       select from dogged.partitions p
        where p.parent = 'tasks_done' and not p.is_kept and p.kept_until <= clock_timestamp() and p.day <= due.day) then
    outcome := 'postponed';
    return;
  end if;
  begin
    if parent in ('task_attempts', 'task_steps')
       or (parent in ('tasks_done', 'tasks_failed') and cardinality(dogged.queues_keeping(parent, due.day)) > 0) then
      rows_kept := dogged.keep_rows_of_day(parent, due.partition, due.day);
    else
      execute format('lock table only dogged.%I in access exclusive mode', parent);
      execute format('drop table dogged.%I', due.partition);
    end if;
    if parent = 'schedule_ticks' then
      update dogged.settings set ticks_since = greatest(ticks_since, due.day + 1);
    end if;
    outcome := 'dropped';
  exception when lock_not_available then
    rows_kept := null;
    outcome := 'postponed';
  end;
end $$;
comment on function dogged.drop_oldest_day(text) is
  'Drops the oldest day of tasks_done, tasks_failed, task_attempts, task_steps, schedule_ticks or events if dogged.settings no '
  'longer keeps that day. outcome: dropped; nothing: no day is due; postponed: the table was in use for longer than 200 ms, or the tasks of a '
  'day of attempts or steps still exist; busy: another call holds the lock. rows_kept: the number of rows that stay: tasks of queues '
  'with a longer setting, or attempts and steps whose task still exists.';

create or replace function dogged.kept_days_to_thin(parent text) returns setof date
language plpgsql stable security definer set search_path = pg_catalog, pg_temp set enable_seqscan = on set plan_cache_mode = auto set jit = off
as $$
declare
  kept record;
  others bigint[];
  is_due boolean;
begin
  for kept in select p.partition, p.day, dogged.queues_keeping(p.parent, p.day) as queues
                from dogged.partitions p where p.is_kept and p.parent = kept_days_to_thin.parent order by p.day loop
    if kept_days_to_thin.parent in ('task_attempts', 'task_steps') then
      -- Most tasks ended on the day of their attempts or, if a clock was set back, on the day before. One more day is
      -- read quickly.
      execute format(
        'select array(select distinct a.task_id from dogged.%1$I a
                       where not exists (select from dogged.tasks_done d
                                          where d.id = a.task_id and d.finished_at >= %2$L and d.finished_at < %3$L)
                         and not exists (select from dogged.tasks_failed f
                                          where f.id = a.task_id and f.finished_at >= %2$L and f.finished_at < %3$L))',
        kept.partition, (kept.day - 1)::timestamp at time zone 'UTC', (kept.day + 1)::timestamp at time zone 'UTC') into others;
      -- The other tasks are few. OFFSET forces one lookup by id for each: a join would read all tasks.
      is_due := cardinality(others) > 0 and exists (
        select from unnest(others) as other (id)
         where not exists (select from dogged.tasks_live t where t.id = other.id offset 0)
           and not exists (select from dogged.tasks_failed f where f.id = other.id offset 0)
           and not exists (select from dogged.tasks_done d where d.id = other.id offset 0));
    else
      -- A partition whose rows were all replayed or purged is due as well.
      execute format('select not exists (select from dogged.%1$I) or exists (select from dogged.%1$I t where t.queue <> all ($1))',
                     kept.partition) into is_due using kept.queues;
    end if;
    if is_due then return next kept.day; end if;
  end loop;
end $$;
comment on function dogged.kept_days_to_thin(text) is
  'Kept days of tasks_done, tasks_failed, task_attempts or task_steps with rows that need not be kept any longer: tasks whose '
  'queue''s own days are over, or attempts and steps whose task is gone. Kept days without rows are included.';

create or replace function dogged.thin_kept_day(parent text, day date, out partition text, out outcome text, out rows_kept bigint)
language plpgsql security definer set search_path = pg_catalog, pg_temp set lock_timeout = '200ms' as $$
begin
  perform dogged.require_read_committed();
  perform from dogged.locks l where l.name = 'partitions' for update skip locked;
  if not found then
    outcome := 'busy';
    return;
  end if;
  select p.partition into partition
    from dogged.partitions p where p.parent = thin_kept_day.parent and p.is_kept and p.day = thin_kept_day.day;
  if not found then
    outcome := 'nothing';
    return;
  end if;
  begin
    rows_kept := dogged.keep_rows_of_day(parent, partition, day);
    outcome := 'thinned';
  exception when lock_not_available then
    rows_kept := null;
    outcome := 'postponed';
  end;
end $$;
comment on function dogged.thin_kept_day(text, date) is
  'Removes from a kept day the rows that need not be kept any longer, and drops the partition if no rows are left. outcome: '
  'thinned, nothing, postponed or busy, as of dogged.drop_oldest_day.';

create or replace function dogged.forget_workers() returns integer
language plpgsql security definer set search_path = pg_catalog, pg_temp set enable_seqscan = on set plan_cache_mode = auto as $$
declare
  -- Workers that ended before every complete day of attempts are named only by kept attempts.
  before constant timestamptz := least(
    clock_timestamp() - (select make_interval(days => keep_attempts_days) from dogged.settings),
    (select min(p.day)::timestamp at time zone 'UTC' from dogged.partitions p
      where p.parent in ('task_attempts', 'task_steps') and not p.is_kept),
    (select min(d.finished_at) from dogged.task_attempts_default d),
    (select min(d.finished_at) from dogged.task_steps_default d));
  forgotten integer;
begin
  if not exists (select from dogged.workers w where greatest(w.rescued_at, w.stopped_at) < before and w.rescued_at is not null) then
    return 0;
  end if;
  delete from dogged.workers w
   where w.rescued_at is not null and greatest(w.rescued_at, w.stopped_at) < before
     -- An array is hashed whatever its length. NOT IN scanned the whole list for each worker, once the list was long.
     and w.id <> all (array(
           select distinct named.worker_id
             from (select a.worker_id from dogged.task_attempts a where a.finished_at < before
                    union all
                   select t.worker_id from dogged.tasks t
                    where t.worker_id is not null and t.status in ('failed', 'pending', 'running')) named));
  get diagnostics forgotten = row_count;
  return forgotten;
end $$;
comment on function dogged.forget_workers() is
  'Deletes the rows of workers that ended longer ago than attempts are kept and that no attempt and no task names; returns their '
  'number.';

create or replace function dogged.forget_calls() returns integer
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  forgotten integer;
begin
  -- No client repeats a call for longer than one day.
  delete from dogged.producer_calls c
   where c.producer = any (array(select old.producer from dogged.producer_calls old
                                  where old.called_at < now() - interval '2 days' limit 10000 for update skip locked));
  get diagnostics forgotten = row_count;
  return forgotten;
end $$;
comment on function dogged.forget_calls() is
  'Deletes the rows of up to 10,000 clients that have made no call for two days (producer_calls); returns their number.';
