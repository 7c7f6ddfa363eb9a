-- dogged.pause_queue(…), resume_queue(…) and set_queue(…) change a queue's settings while workers run. dogged.audit
-- records each change, and workers are notified at commit.

create or replace function dogged.require_queue_name(name text) returns void
language plpgsql immutable set search_path = pg_catalog, pg_temp as $$
begin
  if coalesce(octet_length(require_queue_name.name) > 128
              or require_queue_name.name !~ '^[A-Za-z0-9][A-Za-z0-9._:/-]*$', true) then
    raise exception 'the queue name "%" is not 1 to 128 of A-Z a-z 0-9 . _ : / - beginning with a letter or a digit',
      left(require_queue_name.name, 128) using errcode = 'invalid_parameter_value';
  end if;
end $$;
comment on function dogged.require_queue_name(text) is 'Raises an error unless a queue may have this name.';

-- Counts the pairs of adjacent letters that both names have. The count is enough to find a typing mistake, and needs no
-- extension.
create or replace function dogged.nearest_names(name text, names text[]) returns text
language plpgsql immutable set search_path = pg_catalog, pg_temp as $$
begin
  return (select string_agg(near.name, ', ' order by near.rank)
            from (select n.name,
                         row_number() over (order by shared.pairs desc, abs(length(n.name) - length(nearest_names.name)),
                                                     n.name) as rank,
                         shared.pairs > 0 or max(shared.pairs) over () = 0 as is_near
                    from unnest(names) n (name)
                   cross join lateral (
                     select count(*) as pairs
                       from (select substr(lower(n.name), i, 2) from generate_series(1, length(n.name) - 1) i
                             intersect
                             select substr(lower(nearest_names.name), i, 2)
                               from generate_series(1, length(nearest_names.name) - 1) i) both_have) shared) near
           where near.rank <= 5 and near.is_near);
end $$;
comment on function dogged.nearest_names(text, text[]) is
  'Internal: up to five of the names that are most like a name. If any shares two adjacent letters with the name, only such names are listed.';

create or replace function dogged.nearest_queues(name text) returns text
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
begin
  return dogged.nearest_names(name, array(select q.name from dogged.queues q));
end $$;
comment on function dogged.nearest_queues(text) is
  'The names of up to five queues that are most like this name. If any queue shares two adjacent letters with the name, only such '
  'queues are listed.';

-- Locks the queue's row: a concurrent change of its settings waits. Workers and enqueue read without a lock, so they do
-- not wait.
create or replace function dogged.lock_queue(name text) returns dogged.queues
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  queue dogged.queues;
begin
  perform dogged.require_queue_name(lock_queue.name);
  select q.* into queue from dogged.queues q where q.name = lock_queue.name for no key update;
  if not found then
    raise exception 'the queue "%" does not exist', lock_queue.name
      using errcode = '22Q01',
            hint = coalesce('Nearest to it: ' || dogged.nearest_queues(lock_queue.name) || '. ', '')
                   || 'A worker creates the queues of its tasks; dogged.create_queue(name) creates one now.';
  end if;
  return queue;
end $$;
comment on function dogged.lock_queue(text) is
  'The row of a queue, locked until the transaction ends. Raises an error with the nearest names if the queue does not exist.';

create or replace function dogged.pause_queue(name text, until timestamptz default null) returns boolean
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  before dogged.queues := dogged.lock_queue(pause_queue.name);
  was_paused boolean;
begin
  if not isfinite(pause_queue.until) then
    raise exception 'the queue "%": until is %', before.name, pause_queue.until
      using errcode = 'invalid_parameter_value', hint = 'Leave until out: then it is paused until it is resumed.';
  elsif pause_queue.until <= clock_timestamp() then
    raise exception 'the queue "%": until % is in the past (it is %)', before.name, pause_queue.until, clock_timestamp()
      using errcode = 'invalid_parameter_value', hint = 'Give a time to come. The queue was not changed.';
  end if;
  was_paused := before.paused_at is not null
                and (before.paused_until is null or before.paused_until > clock_timestamp());
  if was_paused and before.paused_until is not distinct from pause_queue.until then return false; end if;
  update dogged.queues q
     set paused_at = case when was_paused then before.paused_at else clock_timestamp() end, paused_until = pause_queue.until
   where q.name = before.name;
  perform dogged.record_audit(
    'pause_queue', null,
    jsonb_build_object('queue', before.name, 'until', pause_queue.until, 'was_paused', was_paused,
                       'was_until', case when was_paused then before.paused_until end));
  return true;
end $$;
comment on function dogged.pause_queue(text, timestamptz) is
  'Pauses a queue: workers claim nothing from the queue once this is committed. Running tasks go on, and tasks can be enqueued. '
  'until: the pause ends by itself then. For a paused queue the call changes that time. Returns false if nothing changed.';

create or replace function dogged.resume_queue(name text) returns boolean
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  before dogged.queues := dogged.lock_queue(resume_queue.name);
begin
  if before.paused_at is null or before.paused_until <= clock_timestamp() then return false; end if;
  update dogged.queues q set paused_at = null, paused_until = null where q.name = before.name;
  perform dogged.record_audit(
    'resume_queue', null,
    jsonb_build_object('queue', before.name, 'paused_at', before.paused_at, 'paused_until', before.paused_until));
  return true;
end $$;
comment on function dogged.resume_queue(text) is
  'Ends the pause of a queue: workers claim from the queue again once this is committed. Returns false if the queue was not '
  'paused.';

-- The first setting that is unknown or out of range raises an error.
create or replace function dogged.require_queue_settings(queue text, settings jsonb) returns void
language plpgsql immutable set search_path = pg_catalog, pg_temp as $$
declare
  setting record;
begin
  if coalesce(jsonb_typeof(require_queue_settings.settings), 'null') <> 'object' then
    raise exception 'the queue "%": its settings are %, not a JSON object', require_queue_settings.queue,
      left(coalesce(require_queue_settings.settings::text, 'null'), 60)
      using errcode = 'invalid_parameter_value', hint = 'Write them as {"concurrency": 5, "max_depth": null}.';
  end if;
  for setting in
    select given.key, given.value, rule.least, rule.most, rule.is_whole
      from jsonb_each(require_queue_settings.settings) given
      left join (values ('concurrency', 1.0, 1000.0, true), ('max_depth', 1, 100000000, true),
                        ('retry_budget', 0.001, 1, false), ('min_retries_per_second', 0.1, 1000000, false),
                        ('keep_done_days', 1, 3650, true), ('keep_failed_days', 1, 3650, true))
             as rule (key, least, most, is_whole) on rule.key = given.key
     where jsonb_typeof(given.value) <> 'null' or rule.key is null
  loop
    if setting.least is null then
      raise exception 'the queue "%": "%" is not a setting', require_queue_settings.queue, left(setting.key, 60)
        using errcode = 'invalid_parameter_value',
              hint = 'There are concurrency, max_depth, retry_budget, min_retries_per_second, keep_done_days and keep_failed_days.';
    elsif jsonb_typeof(setting.value) <> 'number'
          or (setting.value)::numeric not between setting.least and setting.most
          or (setting.is_whole and trunc((setting.value)::numeric) <> (setting.value)::numeric) then
      raise exception 'the queue "%": % is %; it must be a %number from % to %, or null', require_queue_settings.queue,
        setting.key, left(setting.value::text, 60), case when setting.is_whole then 'whole ' else '' end,
        trim_scale(setting.least), trim_scale(setting.most)
        using errcode = 'invalid_parameter_value',
              hint = 'The queue was not changed. Give a number of this range; null takes the setting back (dogged queues set: none).';
    end if;
  end loop;
end $$;
comment on function dogged.require_queue_settings(text, jsonb) is 'Raises an error unless set_queue can take the settings.';

create or replace function dogged.require_longer_than_all(queue text, setting text, days integer, days_of_all integer) returns void
language plpgsql immutable set search_path = pg_catalog, pg_temp as $$
begin
  if require_longer_than_all.days < days_of_all then
    raise exception 'the queue "%": % is %, less than that of all queues, %', require_longer_than_all.queue, setting,
      require_longer_than_all.days, days_of_all
      using errcode = 'invalid_parameter_value',
            hint = format('A queue''s tasks can only be kept longer than others. The queue was not changed. To keep those of all others '
                          'longer than its own, lower %s of dogged.settings and raise theirs.', setting);
  end if;
end $$;
comment on function dogged.require_longer_than_all(text, text, integer, integer) is
  'Raises an error where a queue''s own days would be fewer than those of dogged.settings.';

create or replace function dogged.set_queue(name text, settings jsonb) returns boolean
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  before dogged.queues := dogged.lock_queue(set_queue.name);
  after_it dogged.queues;
begin
  perform dogged.require_queue_settings(before.name, set_queue.settings);
  after_it := before;
  if settings ? 'concurrency' then after_it.concurrency := (settings -> 'concurrency' #>> '{}')::numeric; end if;
  if settings ? 'max_depth' then after_it.max_depth := (settings -> 'max_depth' #>> '{}')::numeric; end if;
  if settings ? 'retry_budget' then after_it.retry_budget := (settings -> 'retry_budget' #>> '{}')::numeric; end if;
  if settings ? 'min_retries_per_second' then
    after_it.min_retries_per_second := coalesce((settings -> 'min_retries_per_second' #>> '{}')::numeric, 10);
  end if;
  if settings ? 'keep_done_days' then after_it.keep_done_days := (settings -> 'keep_done_days' #>> '{}')::numeric; end if;
  if settings ? 'keep_failed_days' then after_it.keep_failed_days := (settings -> 'keep_failed_days' #>> '{}')::numeric; end if;
  if after_it is not distinct from before then return false; end if;
  if after_it.keep_done_days is distinct from before.keep_done_days then
    perform dogged.require_longer_than_all(before.name, 'keep_done_days', after_it.keep_done_days, s.keep_done_days) from dogged.settings s;
  end if;
  if after_it.keep_failed_days is distinct from before.keep_failed_days then
    perform dogged.require_longer_than_all(before.name, 'keep_failed_days', after_it.keep_failed_days, s.keep_failed_days) from dogged.settings s;
  end if;
  update dogged.queues q
     set concurrency = after_it.concurrency, max_depth = after_it.max_depth, retry_budget = after_it.retry_budget,
         min_retries_per_second = after_it.min_retries_per_second,
         keep_done_days = after_it.keep_done_days, keep_failed_days = after_it.keep_failed_days
   where q.name = before.name;
  perform dogged.record_audit(
    'set_queue', null,
    jsonb_build_object('queue', before.name, 'settings', settings,
                       'before', (select jsonb_object_agg(was.key, was.value)
                                    from jsonb_each(to_jsonb(before)) was where settings ? was.key)));
  return true;
end $$;
comment on function dogged.set_queue(text, jsonb) is
  'Changes settings of a queue, which workers follow at once: {"concurrency": 5, "max_depth": 1000, "retry_budget": 0.2, '
  '"min_retries_per_second": 10, "keep_done_days": 30, "keep_failed_days": 365}. Settings that are not named stay; null takes a '
  'setting back. Returns false if nothing changed.';

-- An enqueue reads dogged.queues, so it holds a lock on that table until its transaction ends. The exclusive lock is
-- therefore granted only when no enqueue is running. No enqueue begins before the caller's transaction has ended, so an
-- empty queue stays empty.
create or replace function dogged.lock_queues(name text) returns dogged.queues
language plpgsql set search_path = pg_catalog, pg_temp set lock_timeout = '2s' as $$
begin
  perform dogged.require_read_committed();
  begin
    lock table dogged.queues in access exclusive mode;
  exception when lock_not_available then
    raise exception 'the queue "%" was not changed: other transactions have used the queues for more than 2 s', lock_queues.name
      using errcode = 'lock_not_available', hint = 'Nothing has changed. Try again; `dogged doctor` names transactions that stay open.';
  end;
  return dogged.lock_queue(lock_queues.name);
end $$;
comment on function dogged.lock_queues(text) is
  'The row of a queue, with the table locked against every enqueue until the transaction ends. Raises an error if other '
  'transactions hold the table for 2 s.';

create or replace function dogged.require_not_served(queue text) returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  served record;
begin
  select min(w.name) as name, count(*) as workers into served
    from dogged.workers w
   where dogged.worker_state(w.lease_until, w.stop_began_at, w.lease_ended_at, w.stopped_at) = 'live'
     and w.queues ? require_not_served.queue;
  if served.workers > 0 then
    raise exception 'the queue "%" is served by %', require_not_served.queue,
      case when served.workers = 1 then format('the worker "%s"', served.name)
           else format('%s workers, "%s" among them', served.workers, served.name) end
      using errcode = 'object_in_use',
            hint = 'Nothing has changed. Start them without it (--queues), or stop them; then do it again.';
  end if;
end $$;
comment on function dogged.require_not_served(text) is 'Raises an error if a live worker serves the queue.';

create or replace function dogged.delete_queue(name text) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  queue constant dogged.queues := dogged.lock_queues(delete_queue.name);
  held integer;
  dead integer;
  schedules text;
begin
  if queue.name = 'default' then
    raise exception 'the queue "default" cannot be deleted: tasks go there that name no queue'
      using errcode = 'invalid_parameter_value', hint = 'dogged.pause_queue(name) stops workers from claiming its tasks.';
  end if;
  perform dogged.require_not_served(queue.name);
  -- With one snapshot: a replay that commits meanwhile makes a live task of a dead letter, and must not escape both counts.
  select dogged.held_of_queue(queue.name, 1000001),
         (select count(*) from (select from dogged.tasks_failed f where f.queue = delete_queue.name limit 1000001) d)
    into held, dead;
  if held > 0 or dead > 0 then
    raise exception 'the queue "%" is not empty: %', queue.name,
      concat_ws(' and ', case when held > 0 then format('%s task%s that %s not ended', held, case when held <> 1 then 's' end,
                                                         case when held = 1 then 'has' else 'have' end) end,
                         case when dead > 0 then format('%s dead letter%s', dead, case when dead <> 1 then 's' end) end)
      using errcode = 'object_in_use',
            hint = 'Nothing has changed. dogged.move_queue(from_queue, to_queue) moves them to another queue; '
                   'dogged.cancel(id) and dogged.purge(id) end them.';
  end if;
  select string_agg(format('"%s"', s.name), ', ' order by s.name) into schedules
    from (select s.name from dogged.schedules s where s.queue = delete_queue.name order by s.name limit 10) s;
  if schedules is not null then
    raise exception 'schedules enqueue to the queue "%": %', queue.name, schedules
      using errcode = 'object_in_use',
            hint = 'Nothing has changed. Give them another queue (dogged schedules set NAME --queue QUEUE), or delete them.';
  end if;
  delete from dogged.queues q where q.name = queue.name;
  perform dogged.record_audit('delete_queue', null, jsonb_build_object('queue', queue.name, 'before', to_jsonb(queue)));
end $$;
comment on function dogged.delete_queue(text) is
  'Deletes an empty queue that no worker serves and no schedule names, with its settings. Otherwise raises an error with the reason. Tasks that have '
  'ended keep the queue''s name.';

create or replace function dogged.rename_queue(name text, new_name text) returns bigint
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  most constant integer := 100000;
  before dogged.queues;
  renamed dogged.queues;
  moved bigint;
begin
  -- Schedules first: fire_due_ticks locks a schedule, and reads its queue then. declare_schedules locks them by name, too.
  perform from dogged.schedules s where s.queue = rename_queue.name order by s.name for update;
  before := dogged.lock_queues(rename_queue.name);
  renamed := before;
  perform dogged.require_queue_name(rename_queue.new_name);
  if exists (select from dogged.queues q where q.name = rename_queue.new_name) then
    raise exception 'the queue "%" exists already', rename_queue.new_name
      using errcode = 'invalid_parameter_value',
            hint = 'dogged.move_queue(from_queue, to_queue) moves tasks there, dogged.delete_queue(name) deletes the old one.';
  elsif before.name = 'default' then
    raise exception 'the queue "default" cannot be renamed: tasks go there that name no queue'
      using errcode = 'invalid_parameter_value', hint = 'dogged.move_queue(from_queue, to_queue) moves its tasks.';
  end if;
  perform dogged.require_not_served(before.name);
  if exists (select from dogged.tasks_live t where t.queue = before.name and t.status = 'running') then
    raise exception 'tasks of the queue "%" run', before.name
      using errcode = 'object_in_use',
            hint = 'Nothing has changed. Workers rescue what a dead one has left; then do it again.';
  elsif dogged.held_of_queue(before.name, most + 1)
        + (select count(*) from (select from dogged.tasks_failed f where f.queue = before.name limit most + 1) dead) > most then
    raise exception 'the queue "%" holds more than % tasks and dead letters, and renaming would keep every enqueue waiting', before.name, most
      using errcode = 'object_in_use',
            hint = 'Nothing has changed. Create the new queue, move tasks by dogged.move_queue(from_queue, to_queue, most => 10000) '
                   'until nothing is left, and delete the old one.';
  end if;
  renamed.name := rename_queue.new_name;
  insert into dogged.queues select (renamed).*;
  update dogged.task_definitions d set queue = renamed.name where d.queue = before.name;
  update dogged.schedules s set queue = renamed.name, changed_at = clock_timestamp() where s.queue = before.name;
  moved := dogged.move_queue(before.name, renamed.name);
  -- move_queue skips rows that an emit, a replay or a call with a unique key has locked. These read no queue, so the lock on
  -- dogged.queues does not keep them out.
  if exists (select from dogged.tasks_live t where t.queue = before.name union all select from dogged.tasks_failed f where f.queue = before.name) then
    raise exception 'the queue "%" is in use: other transactions are changing tasks of it', before.name
      using errcode = 'object_in_use', hint = 'Nothing has changed. Do it again once they have ended.';
  end if;
  delete from dogged.queues q where q.name = before.name;
  perform dogged.record_audit('rename_queue', null, jsonb_build_object('queue', before.name, 'new_name', renamed.name, 'moved', moved));
  return moved;
end $$;
comment on function dogged.rename_queue(text, text) is
  'Renames a queue that no worker serves, with its settings, and the definitions and schedules that name the queue. Its tasks and dead letters '
  'move along (at most 100,000). Returns the number of moved tasks. Change programs that name the old '
  'queue first: a worker that declares the old name creates the queue again.';
