-- dogged.schedule(…) and the functions beside it change schedules. Each change is in dogged.audit, and workers are notified
-- at commit. schema/fire.sql fires what is due. docs/schedules.md explains both.

create or replace function dogged.refuse_schedule(name text, mistake text, remedy text) returns void
language plpgsql immutable set search_path = pg_catalog, pg_temp as $$
begin
  raise exception 'the schedule "%": %', left(refuse_schedule.name, 128), refuse_schedule.mistake
    using errcode = 'invalid_parameter_value', hint = refuse_schedule.remedy;
end $$;
comment on function dogged.refuse_schedule(text, text, text) is 'Internal: raises the error that says what is wrong with a schedule.';

create or replace function dogged.require_schedule_name(name text) returns void
language plpgsql immutable set search_path = pg_catalog, pg_temp as $$
begin
  if coalesce(octet_length(require_schedule_name.name) > 128
              or require_schedule_name.name !~ '^[A-Za-z0-9][A-Za-z0-9._:/-]*$', true) then
    raise exception 'the schedule name "%" is not 1 to 128 of A-Z a-z 0-9 . _ : / - beginning with a letter or a digit',
      left(require_schedule_name.name, 128)
      using errcode = 'invalid_parameter_value', hint = 'Choose another name, for example nightly-report.';
  end if;
end $$;
comment on function dogged.require_schedule_name(text) is 'Internal: raises an error unless a schedule may have this name.';

create or replace function dogged.lock_schedule(name text) returns dogged.schedules
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  schedule dogged.schedules;
begin
  perform dogged.require_schedule_name(lock_schedule.name);
  select s.* into schedule from dogged.schedules s where s.name = lock_schedule.name for update;
  if not found then
    raise exception 'the schedule "%" does not exist', lock_schedule.name
      using errcode = 'invalid_parameter_value', hint = 'dogged.schedule(name, task, spec) creates one; `dogged schedules list` lists them.';
  end if;
  return schedule;
end $$;
comment on function dogged.lock_schedule(text) is 'Internal: the row of a schedule, locked until the transaction ends.';

-- PostgreSQL takes a POSIX time zone (FOO-3) for a name as well. PostgreSQL takes CET for an abbreviation with a fixed offset, although
-- the IANA zone CET has summer time. PostgreSQL takes a name in any spelling of case, and Etc/GMT+99. pg_timezone_names, which has the exact
-- names, reads a thousand files in 60 ms. So the pattern decides about common names: no name differs from one of the pattern by its case alone.
create or replace function dogged.is_time_zone(name text) returns boolean
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
begin
  perform now() at time zone name;
  return is_time_zone.name ~ ('^(UTC|Etc/GMT[+]([0-9]|1[0-2])|Etc/GMT-([0-9]|1[0-4])'
                                || '|(Africa|America|Asia|Atlantic|Europe|Indian|Pacific)/[A-Z][a-z]+(_[A-Z][a-z]{2,})?)$')
         or (is_time_zone.name ~ '^[A-Z]' and is_time_zone.name <> 'Factory'
             and not exists (select from pg_timezone_abbrevs a where a.abbrev = upper(is_time_zone.name))
             and exists (select from pg_timezone_names z where z.name = is_time_zone.name));
exception when invalid_parameter_value then
  return false;
end $$;
comment on function dogged.is_time_zone(text) is 'Internal: whether this is the name of a time zone that the server knows, and no abbreviation.';

create or replace function dogged.require_time_zone(name text, time_zone text) returns void
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
declare
  ahead interval;
  hours integer;
begin
  if dogged.is_time_zone(time_zone) then return; end if;
  ahead := (select a.utc_offset from pg_timezone_abbrevs a where a.abbrev = upper(require_time_zone.time_zone));
  hours := extract(epoch from ahead) / 3600;
  if ahead is not null then
    perform dogged.refuse_schedule(
      name, format('its time zone "%s" is an abbreviation, which has no changes of the clock', time_zone),
      'Give the name of a place in the IANA time zone database, such as Europe/Berlin'
      || case when ahead = interval '0' then ', or UTC.'
              when ahead = hours * interval '1 hour' then format(', or Etc/GMT%s for this fixed offset.', to_char(-hours, 'SGFM90')) else '.' end);
  end if;
  perform dogged.refuse_schedule(
    name, format('its time zone "%s" is not known', left(time_zone, 60)),
    coalesce('Nearest to it: '
             || dogged.nearest_names(left(time_zone, 60), array(select z.name from pg_timezone_names z
                                                       where z.name ~ '^[A-Z]' and z.name <> 'Factory' and z.name <> z.abbrev)) || '. ', '')
    || 'Give a name of the IANA time zone database, such as Europe/Berlin or UTC; the column name of pg_timezone_names lists them.');
end $$;
comment on function dogged.require_time_zone(text, text) is 'Internal: raises an error unless this is the name of a time zone.';

create or replace function dogged.time_in(at timestamptz, time_zone text) returns timestamp
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
begin
  return at at time zone time_zone;
exception when invalid_parameter_value then
  return null;
end $$;
comment on function dogged.time_in(timestamptz, text) is
  'Internal: a time on the clocks of a time zone; null if the server does not know the zone, which an update of its system can bring.';

create or replace function dogged.shortest_gap(compiled dogged.compiled_spec) returns bigint
language plpgsql immutable set search_path = pg_catalog, pg_temp as $$
begin
  return coalesce(compiled.every_seconds,
                  (select min(case when following is null then 60 + first - second else following - second end)
                     from (select s.second, lead(s.second) over (order by s.second) as following, min(s.second) over () as first
                             from generate_series(0, 59) as s (second) where (compiled.seconds >> s.second) & 1 = 1) seconds));
end $$;
comment on function dogged.shortest_gap(dogged.compiled_spec) is 'Internal: the fewest seconds between two times of a spec.';

create or replace function dogged.require_sound_spec(name text, compiled dogged.compiled_spec, spec text, allow_frequent boolean) returns void
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
declare
  gap constant bigint := dogged.shortest_gap(compiled);
begin
  if dogged.next_tick(compiled, 'UTC', clock_timestamp()) is null then
    perform dogged.refuse_schedule(name, format('its spec "%s" never fires', spec),
                                   'No year of the next 40 has such a day. Check its day of month against its month.');
  elsif gap < 10 and not allow_frequent then
    perform dogged.refuse_schedule(
      name, format('its spec "%s" fires again after %s s', spec, gap),
      case when compiled.every_seconds is not null then '' else 'A cron spec with six fields begins with the second. ' end ||
      'If it is to fire more often than every 10 s, say so: allow_frequent (--allow-frequent).');
  end if;
end $$;
comment on function dogged.require_sound_spec(text, dogged.compiled_spec, text, boolean) is
  'Internal: raises an error for a spec that never fires, or that fires more often than every 10 s where nobody has said that it may.';

-- The first setting that is unknown, of another type or out of range raises an error.
create or replace function dogged.require_schedule_settings(name text, settings jsonb) returns void
language plpgsql immutable set search_path = pg_catalog, pg_temp as $$
declare
  setting record;
begin
  if coalesce(jsonb_typeof(settings), 'null') <> 'object' then
    perform dogged.refuse_schedule(name, format('its settings are %s, not a JSON object', left(coalesce(settings::text, 'null'), 60)),
                                   'Write them as {"spec": "0 3 * * *", "time_zone": "Europe/Berlin"}.');
  end if;
  for setting in
    select given.key, given.value, rule.type, rule.lowest, rule.highest
      from jsonb_each(require_schedule_settings.settings) given
      left join (values ('task', 'string', null::bigint, null::bigint), ('spec', 'string', null, null), ('time_zone', 'string', null, null),
                        ('queue', 'string?', null, null), ('overlap', 'string', null, null), ('args', 'any', null, null),
                        ('allow_frequent', 'boolean', null, null), ('args_version', 'number', 1, 32767),
                        ('priority', 'number', -32768, 32767), ('jitter_ms', 'number', 0, 86400000),
                        ('catch_up_ms', 'number?', 0, 31622400000), ('catch_up_limit', 'number?', 0, 10000))
             as rule (key, type, lowest, highest) on rule.key = given.key
  loop
    if setting.type is null then
      perform dogged.refuse_schedule(
        name, format('"%s" is not a setting', left(setting.key, 60)),
        'There are task, spec, time_zone, args, args_version, queue, priority, jitter_ms, overlap, catch_up_ms, catch_up_limit and allow_frequent.');
    elsif setting.type <> 'any' and jsonb_typeof(setting.value) <> rtrim(setting.type, '?')
          and not (setting.type like '%?' and jsonb_typeof(setting.value) = 'null') then
      perform dogged.refuse_schedule(name, format('its %s is %s, not a %s', setting.key, left(setting.value::text, 60), rtrim(setting.type, '?')),
                                     'Nothing was changed.');
    elsif jsonb_typeof(setting.value) = 'number'
          and ((setting.value)::numeric not between setting.lowest and setting.highest or trunc((setting.value)::numeric) <> (setting.value)::numeric) then
      perform dogged.refuse_schedule(
        name, format('its %s is %s; it must be a whole number from %s to %s', setting.key, left(setting.value::text, 60), setting.lowest, setting.highest)
              || case when setting.key like '%_ms' then format(' (%s)', justify_hours(setting.highest * interval '1 millisecond')) else '' end,
        'Nothing was changed.');
    end if;
  end loop;
  if settings ? 'overlap' and settings ->> 'overlap' not in ('skip', 'buffer_one', 'buffer_all', 'cancel_other', 'allow_all') then
    perform dogged.refuse_schedule(name, format('its overlap is "%s"', left(settings ->> 'overlap', 60)),
                                   'There are skip, buffer_one, buffer_all, cancel_other and allow_all.');
  end if;
end $$;
comment on function dogged.require_schedule_settings(text, jsonb) is
  'Internal: raises an error unless a schedule can take the settings: their names, types and ranges.';

create or replace function dogged.fires_at_of(schedule dogged.schedules) returns timestamptz
language plpgsql immutable set search_path = pg_catalog, pg_temp as $$
begin
  return schedule.next_at
         + abs(hashtextextended(schedule.id || ' ' || extract(epoch from schedule.next_at), 0) % (schedule.jitter_ms + 1)) * interval '1 millisecond';
end $$;
comment on function dogged.fires_at_of(dogged.schedules) is 'Internal: when the next tick of a schedule is due, with its jitter.';

create or replace function dogged.looked_after_at(schedule dogged.schedules, now_at timestamptz) returns timestamptz
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
begin
  return least(dogged.fires_at_of(schedule),
               case when dogged.first_waiting_tick(schedule.id) is not null then now_at + interval '1 second' end);
end $$;
comment on function dogged.looked_after_at(dogged.schedules, timestamptz) is
  'Internal: when workers look after a schedule again: its next tick is due, or a second is over while a tick waits.';

-- The times of before must not be lost with the old spec or time zone: a deploy may come after an outage.
create or replace function dogged.settle_times_before_change(schedule dogged.schedules, now_at timestamptz) returns dogged.schedules
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  settled dogged.schedules;
begin
  if (schedule.next_at <= now_at) is not true then return schedule; end if;
  if schedule.fires_at <= now_at then perform dogged.fire_or_put_off(schedule, now_at); end if;
  select s.* into settled from dogged.schedules s where s.id = schedule.id;
  if settled.next_at <= now_at then
    perform dogged.skip_until(settled, now_at + interval '1 microsecond', case when settled.paused_at is null then 'missed' else 'paused' end);
    settled.last_tick_at := greatest(settled.last_tick_at, now_at);
  end if;
  return settled;
end $$;
comment on function dogged.settle_times_before_change(dogged.schedules, timestamptz) is
  'Internal: fires the due ticks of a locked schedule before its spec or time zone changes, or its pause ends. Notes ticks as missed that jitter, '
  'or the limit of a call, has put off, and those of a pause as paused. Returns the changed row.';

-- Of two changes at a time one waits for the other, and no tick is decided meanwhile. A tick that was decided is never made
-- again, also where the clock was set back.
create or replace function dogged.put_schedule(name text, settings jsonb) returns text
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  before dogged.schedules;
  put dogged.schedules;
  now_at timestamptz;
begin
  perform dogged.require_schedule_settings(name, settings);
  select s.* into before from dogged.schedules s where s.name = put_schedule.name for update;
  now_at := clock_timestamp();  -- the lock may have waited: ticks have fallen due meanwhile
  put := before;
  put.name := name;
  put.task := case when settings ? 'task' then settings ->> 'task' else before.task end;
  put.spec := case when settings ? 'spec' then settings ->> 'spec' else before.spec end;
  put.time_zone := coalesce(settings ->> 'time_zone', before.time_zone, 'UTC');
  put.args := coalesce(settings -> 'args', before.args, '{}');
  put.args_version := coalesce((settings ->> 'args_version')::numeric::smallint, before.args_version);
  put.queue := case when settings ? 'queue' then settings ->> 'queue' else before.queue end;
  put.priority := coalesce((settings ->> 'priority')::numeric::smallint, before.priority, 0);
  put.jitter_ms := coalesce((settings ->> 'jitter_ms')::numeric::bigint, before.jitter_ms, 0);
  put.overlap := coalesce(settings ->> 'overlap', before.overlap::text, 'skip');
  put.catch_up_ms := case when settings ? 'catch_up_ms' then (settings ->> 'catch_up_ms')::numeric::bigint when before.id is null then 3600000 else before.catch_up_ms end;
  put.catch_up_limit := case when settings ? 'catch_up_limit' then (settings ->> 'catch_up_limit')::numeric::integer
                             when before.id is null then 1
                             when settings ? 'catch_up_ms' and before.catch_up_limit = 0 then 1  -- else the window would have no effect
                             else before.catch_up_limit end;
  put.live_tasks := coalesce(before.live_tasks, '{}');
  if put.task is null then perform dogged.refuse_schedule(name, 'it has no task', 'Name the task that it is to enqueue.'); end if;
  if put.spec is null then perform dogged.refuse_schedule(name, 'it has no spec', 'Give the times at which it fires, for example 0 3 * * * or every 90s.'); end if;
  -- The server may have forgotten the name of a time zone that it knew. A look for any other name takes up to 60 ms.
  if put.time_zone is distinct from before.time_zone or dogged.time_in(now_at, put.time_zone) is null then
    perform dogged.require_time_zone(name, put.time_zone);
  end if;
  if before.id is not null and settings ? 'allow_frequent' and not settings ? 'spec' then
    perform dogged.refuse_schedule(name, 'allow_frequent is given without a spec, and has no effect',
                                   'It is for the spec that is given with it. Give both (--spec, --allow-frequent), or leave it out.');
  end if;
  if before.id is null or put.spec is distinct from before.spec then
    put.compiled := dogged.compile_spec(put.spec);
    perform dogged.require_sound_spec(name, put.compiled, put.spec, coalesce((settings ->> 'allow_frequent')::boolean, false));
  end if;
  perform dogged.require_enqueueable(put);
  if put is not distinct from before then return 'unchanged'; end if;
  put.id := coalesce(before.id, nextval(pg_get_serial_sequence('dogged.schedules', 'id')));
  if before.id is null or put.spec <> before.spec or put.time_zone <> before.time_zone then
    before := dogged.settle_times_before_change(before, now_at);
    put.live_tasks := coalesce(before.live_tasks, '{}');
    put.last_tick_at := before.last_tick_at;
    put.next_at := dogged.next_tick(put.compiled, put.time_zone, greatest(now_at, put.last_tick_at));
  end if;
  put.changed_at := clock_timestamp();  -- after the ticks of before were decided
  put.created_at := coalesce(put.created_at, put.changed_at);
  if put.paused_at is null then put.fires_at := dogged.looked_after_at(put, now_at); end if;
  return dogged.store_schedule(put);
end $$;
comment on function dogged.put_schedule(text, jsonb) is
  'Internal: creates or changes a schedule; settings that are not named stay. Returns created, changed or unchanged.';

create or replace function dogged.require_enqueueable(schedule dogged.schedules) returns void
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
declare
  limits dogged.settings;
  remedy text;
begin
  perform dogged.require_schedule_name(schedule.name);
  select s.* into limits from dogged.settings s;
  if not coalesce(dogged.is_sound_task(schedule.task, null, schedule.priority, null, null, array['schedule:' || schedule.name], null, schedule.args_version), false)
     or coalesce(dogged.json_bytes(schedule.args, limits.max_args_bytes) > limits.max_args_bytes, true)
     or (schedule.queue is not null and not exists (select from dogged.queues q where q.name = schedule.queue)) then
    perform dogged.refuse_task(schedule.task, schedule.args, coalesce(schedule.queue, 'default'), null, schedule.priority, null, null,
                               array['schedule:' || schedule.name], null, schedule.args_version);
  end if;
exception when invalid_parameter_value or sqlstate '22Q01' then
  get stacked diagnostics remedy = pg_exception_hint;
  if starts_with(sqlerrm, 'the schedule') then raise; end if;
  raise exception 'the schedule "%": %', schedule.name, sqlerrm
    using errcode = sqlstate, hint = replace(remedy, 'Nothing was enqueued.', 'The schedule was not changed.');
end $$;
comment on function dogged.require_enqueueable(dogged.schedules) is 'Internal: raises an error unless enqueue takes the tasks of a schedule.';

create or replace function dogged.store_schedule(schedule dogged.schedules) returns text
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  if exists (select from dogged.schedules s where s.id = schedule.id) then
    update dogged.schedules s
       set (task, spec, time_zone, compiled, args, args_version, queue, priority, jitter_ms, overlap, catch_up_ms, catch_up_limit, next_at,
            fires_at, last_tick_at, changed_at)
         = (select schedule.task, schedule.spec, schedule.time_zone, schedule.compiled, schedule.args, schedule.args_version, schedule.queue,
                   schedule.priority, schedule.jitter_ms, schedule.overlap, schedule.catch_up_ms, schedule.catch_up_limit, schedule.next_at,
                   schedule.fires_at, schedule.last_tick_at, schedule.changed_at)
     where s.id = schedule.id;
    return 'changed';
  end if;
  insert into dogged.schedules overriding system value select (schedule).* on conflict do nothing;
  if not found then
    raise exception 'the schedule "%" was created at the same time', schedule.name
      using errcode = 'serialization_failure', hint = 'Nothing was changed: do it again.';
  end if;
  return 'created';
end $$;
comment on function dogged.store_schedule(dogged.schedules) is 'Internal: writes the row of a schedule.';

create or replace function dogged.set_schedule(name text, settings jsonb) returns boolean
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  before constant dogged.schedules := dogged.lock_schedule(set_schedule.name);
begin
  if dogged.put_schedule(name, settings) = 'unchanged' then return false; end if;
  perform dogged.record_audit(
    'set_schedule', null,
    jsonb_build_object('schedule', name, 'settings', settings,
                       'before', (select jsonb_object_agg(was.key, was.value)
                                    from jsonb_each(to_jsonb(before)) was where settings ? was.key)));
  return true;
end $$;
comment on function dogged.set_schedule(text, jsonb) is
  'Changes settings of a schedule: {"spec": "0 4 * * *", "time_zone": "Europe/Berlin", "task": "report", "args": {}, "args_version": 1, "queue": '
  'null, "priority": 0, "jitter_ms": 60000, "overlap": "skip", "catch_up_ms": 3600000, "catch_up_limit": 1, "allow_frequent": false}. Settings that '
  'are not named stay. Returns false if nothing changed.';

create or replace function dogged.create_schedule(name text, settings jsonb) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  perform dogged.require_schedule_name(create_schedule.name);
  if exists (select from dogged.schedules s where s.name = create_schedule.name) then
    perform dogged.refuse_schedule(name, 'it exists already', 'Nothing was changed. dogged.set_schedule(name, settings), or dogged schedules set NAME, changes it.');
  end if;
  perform dogged.put_schedule(name, settings);
  perform dogged.record_audit('create_schedule', null, jsonb_build_object('schedule', name, 'settings', settings));
end $$;
comment on function dogged.create_schedule(text, jsonb) is
  'Creates a schedule with settings as dogged.set_schedule takes them; task and spec are required. Raises an error if it exists.';

create or replace function dogged.schedule(
  name text, task text, spec text, time_zone text default 'UTC', args jsonb default '{}', queue text default null,
  priority integer default 0, jitter interval default '0', overlap text default 'skip', catch_up interval default '1 hour',
  catch_up_limit integer default 1, allow_frequent boolean default false, args_version integer default 1)
returns text
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  settings constant jsonb := jsonb_build_object(
    'task', task, 'spec', spec, 'time_zone', time_zone, 'args', args, 'queue', queue, 'priority', coalesce(priority, 0),
    'jitter_ms', round(extract(epoch from coalesce(jitter, '0')) * 1000), 'overlap', overlap,
    'catch_up_ms', round(extract(epoch from catch_up) * 1000), 'catch_up_limit', catch_up_limit,
    'allow_frequent', coalesce(allow_frequent, false), 'args_version', coalesce(args_version, 1));
  outcome text;
begin
  perform dogged.require_schedule_name(name);
  outcome := dogged.put_schedule(name, settings);
  if outcome <> 'unchanged' then
    perform dogged.record_audit('schedule', null, jsonb_build_object('schedule', name, 'outcome', outcome, 'settings', settings));
    if not exists (select from dogged.task_definitions d where d.name = schedule.task) then
      raise notice 'no worker has declared the task "%": the tasks of the schedule "%" wait for a worker that does', task, name;
    end if;
  end if;
  return outcome;
end $$;
comment on function dogged.schedule(text, text, text, text, jsonb, text, integer, interval, text, interval, integer, boolean, integer) is
  'Creates a schedule, or gives one of this name all these settings. Returns created, changed or unchanged. spec: 0 3 * * *, @daily, '
  'every 90s. jitter: each tick is put off by up to this long. overlap: what becomes of a tick while the task of an earlier one has not '
  'ended: skip, buffer_one, buffer_all, cancel_other, allow_all. catch_up, catch_up_limit: ticks that nobody could fire in time are made up '
  'for while they are no older, the latest ones, no more than this many; null: all.';

-- After an outage, ticks may be due that no worker has fired. These ticks do not belong to the pause: their window of
-- catch-up may end before the pause does. Counted as paused, these ticks would raise no alarm. A tick that jitter alone
-- has put off would fire in the pause.
create or replace function dogged.pause_schedule(name text) returns boolean
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  schedule dogged.schedules := dogged.lock_schedule(pause_schedule.name);
  now_at constant timestamptz := clock_timestamp();
begin
  if schedule.paused_at is not null then return false; end if;
  -- A schedule with an unknown time zone can be paused too.
  if schedule.fires_at <= now_at and dogged.time_in(now_at, schedule.time_zone) is not null then
    perform dogged.fire_or_put_off(schedule, now_at);
    select s.* into schedule from dogged.schedules s where s.id = schedule.id;
    if schedule.fires_at <= now_at then -- a call fires no more
      perform dogged.skip_until(schedule, now_at + interval '1 microsecond', 'missed');
      schedule.last_tick_at := greatest(schedule.last_tick_at, now_at);
      schedule.next_at := dogged.next_tick(schedule.compiled, schedule.time_zone, schedule.last_tick_at);
    end if;
  end if;
  update dogged.schedules s
     set paused_at = now_at, fires_at = null, next_at = schedule.next_at, last_tick_at = schedule.last_tick_at
   where s.id = schedule.id;
  perform dogged.record_audit('pause_schedule', null, jsonb_build_object('schedule', name));
  return true;
end $$;
comment on function dogged.pause_schedule(text) is
  'Pauses a schedule: no tick fires until it is resumed. The ticks of that time are skipped as paused, and are not made up for. Ticks that were '
  'due before are settled first: they fire, or are skipped as missed, by the schedule''s catch-up. Returns false if it was paused.';

-- A range of skipped ticks has one row, so that its other ticks count as passed over too: they have not fired.
create or replace function dogged.passed_over_tick(schedule_id bigint) returns timestamptz
language plpgsql stable security definer set search_path = pg_catalog, pg_temp as $$
declare
  schedule dogged.schedules;
  now_at constant timestamptz := clock_timestamp();
  tick timestamptz;
begin
  select s.* into schedule from dogged.schedules s where s.id = passed_over_tick.schedule_id;
  if dogged.time_in(now_at, schedule.time_zone) is null then return null; end if;
  if schedule.paused_at is not null then schedule.next_at := schedule.last_tick_at + interval '1 microsecond'; end if;
  tick := dogged.next_tick(schedule.compiled, schedule.time_zone, now_at);
  -- Bounded, because a list asks for many schedules, and one may fire each second.
  for i in 1 .. 10000 loop
    exit when (tick < schedule.next_at) is not true;
    if not dogged.is_tick_decided(schedule.id, tick, schedule.overlap) then return tick; end if;
    tick := dogged.next_tick(schedule.compiled, schedule.time_zone, tick);
  end loop;
  return null;
end $$;
comment on function dogged.passed_over_tick(bigint) is
  'The first time of the spec, from now on, at which the schedule does not fire, because the server''s clock was ahead. Null: there is none. '
  'dogged.resume_schedule(name, from_now => true) is the remedy.';

create or replace function dogged.resume_schedule(name text, from_now boolean default false) returns boolean
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  schedule dogged.schedules := dogged.lock_schedule(resume_schedule.name);
  now_at constant timestamptz := clock_timestamp();
begin
  if schedule.paused_at is null and (not from_now or dogged.passed_over_tick(schedule.id) is null) then return false; end if;
  perform dogged.require_time_zone(name, schedule.time_zone);
  schedule := dogged.settle_times_before_change(schedule, now_at);
  if from_now then schedule.last_tick_at := least(schedule.last_tick_at, now_at); end if;
  schedule.next_at := dogged.next_tick(schedule.compiled, schedule.time_zone, greatest(now_at, schedule.last_tick_at));
  update dogged.schedules s
     set paused_at = null, next_at = schedule.next_at, last_tick_at = schedule.last_tick_at,
         fires_at = dogged.looked_after_at(schedule, now_at)
   where s.id = schedule.id;
  perform dogged.record_audit('resume_schedule', null, jsonb_build_object('schedule', name, 'paused_at', schedule.paused_at, 'from_now', from_now));
  return true;
end $$;
comment on function dogged.resume_schedule(text, boolean) is
  'Ends the pause of a schedule: the schedule fires at its next time. from_now: the schedule starts at now, also if the server''s clock was '
  'ahead and the next time lies too far in the future (dogged.passed_over_tick). A tick that has fired does not fire again. Returns false if '
  'the schedule was not paused, unless from_now is given and the schedule passes over a time.';

-- Otherwise the program would soon create the schedule again under its old name.
create or replace function dogged.require_undeclared(name text, remedy text) returns void
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
declare
  worker text := (select w.name from dogged.workers w
                   where w.schedules ? require_undeclared.name and w.stopped_at is null and w.lease_ended_at is null
                   order by w.id desc limit 1);
begin
  if worker is not null then
    perform dogged.refuse_schedule(name, format('the program of worker %s declares it', worker), 'Nothing was changed. ' || remedy);
  end if;
end $$;
comment on function dogged.require_undeclared(text, text) is 'Internal: raises an error if the program of a live worker declares a schedule.';

create or replace function dogged.delete_schedule(name text) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  schedule constant dogged.schedules := dogged.lock_schedule(delete_schedule.name);
begin
  perform dogged.require_undeclared(name, 'Take its TASK_SCHEDULE out of the program first, or pause the schedule.');
  perform dogged.skip_waiting(schedule, 'deleted');
  delete from dogged.schedules s where s.id = schedule.id;
  perform dogged.record_audit('delete_schedule', null, jsonb_build_object('schedule', name, 'before', to_jsonb(schedule) - 'compiled'));
end $$;
comment on function dogged.delete_schedule(text) is
  'Deletes a schedule. Its ticks stay until retention drops them, and tasks that it has enqueued run. Raises an error while the '
  'program of a live worker declares it.';

create or replace function dogged.rename_schedule(name text, new_name text) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  schedule constant dogged.schedules := dogged.lock_schedule(rename_schedule.name);
begin
  perform dogged.require_schedule_name(new_name);
  if exists (select from dogged.schedules s where s.name = new_name) then
    perform dogged.refuse_schedule(new_name, 'it exists already', 'Nothing was changed. Delete it first, or choose another name.');
  end if;
  perform dogged.require_undeclared(name, 'Give it the new name in its TASK_SCHEDULE, and name the old one there: .formerly.');
  update dogged.schedules s set name = new_name, changed_at = clock_timestamp() where s.id = schedule.id;
  perform dogged.record_audit('rename_schedule', null, jsonb_build_object('schedule', name, 'new_name', new_name));
end $$;
comment on function dogged.rename_schedule(text, text) is
  'Renames a schedule. It keeps its ticks, so that none of them fires a second time under the new name. Raises an error while the program of '
  'a live worker declares it.';

create or replace function dogged.require_number_of_ticks(most integer) returns void
language plpgsql immutable set search_path = pg_catalog, pg_temp as $$
begin
  if (most between 1 and 10000) is not true then
    raise exception 'most is %, which is not from 1 to 10000', coalesce(most::text, 'null')
      using errcode = 'invalid_parameter_value', hint = 'Say how many times to give, or leave most out for 10.';
  end if;
end $$;
comment on function dogged.require_number_of_ticks(integer) is
  'Internal: raises an error unless so many next times may be asked for.';

create or replace function dogged.next_ticks(spec text, time_zone text default 'UTC', after timestamptz default now(), most integer default 10)
returns setof timestamptz
language plpgsql stable security definer set search_path = pg_catalog, pg_temp as $$
declare
  compiled constant dogged.compiled_spec := dogged.compile_spec(spec);
  tick timestamptz := after;
begin
  perform dogged.require_time_zone(spec, time_zone);
  perform dogged.require_number_of_ticks(most);
  if (after between '0001-01-01 UTC' and '9999-12-31 UTC') is not true then
    perform dogged.refuse_spec(spec, format('after is %s, which is not a time of the years 1 to 9999', coalesce(after::text, 'null')),
                               'Give a time, or leave after out for now.');
  end if;
  for i in 1 .. most loop
    tick := dogged.next_tick(compiled, time_zone, tick);
    exit when tick is null;
    return next tick;
  end loop;
end $$;
comment on function dogged.next_ticks(text, text, timestamptz, integer) is
  'The next 1 to 10,000 times at which a spec fires, to try a spec out: select * from dogged.next_ticks(''0 3 * * *'', ''Europe/Berlin'').';

create or replace view dogged.schedule_overview as
select s.id, s.name, s.task, s.spec, s.time_zone,
       case when exists (select from dogged.task_definitions d where d.name = s.task and d.redact <> '{}')
            then dogged.redacted(s.task, s.args) else s.args end as args,
       s.args_version, s.queue, s.priority, s.jitter_ms, s.overlap, s.catch_up_ms, s.catch_up_limit,
       case when s.paused_at is not null then 'paused'
            when s.next_at is null then 'ended'
            when s.declared is not null
                 and not exists (select from dogged.workers w
                                  where w.schedules ? s.name and w.stopped_at is null and w.lease_ended_at is null)
                 and exists (select from dogged.workers w where w.stopped_at is null and w.lease_ended_at is null) then 'orphaned'
            when not exists (select from dogged.task_definitions d where d.name = s.task) then 'unknown task'
            else 'active' end as state,
       s.next_at, s.paused_at, s.declared is not null as is_declared, s.created_at, s.changed_at,
       last.scheduled_at as last_at, last.outcome as last_outcome, last.reason as last_reason, last.late_ms as last_late_ms,
       last.task_id as last_task_id
  from dogged.schedules s
  left join lateral (select t.* from dogged.schedule_ticks t
                      where t.schedule_id = s.id and t.scheduled_at <= s.last_tick_at and t.scheduled_at > s.last_tick_at - interval '31 days'
                      order by t.scheduled_at desc limit 1) last on true;
comment on view dogged.schedule_overview is 'One row for each schedule, with its state and its last tick.';
do $$
declare
  column_name name;
  meaning text;
begin
  for column_name, meaning in
    select v.attname,
           coalesce((select col_description(t.attrelid, t.attnum) from pg_attribute t
                      where t.attrelid = 'dogged.schedules'::regclass and t.attname = v.attname and v.attname <> 'args'),
                    case v.attname::text
                      when 'args' then 'The args of its tasks, redacted as the task declares.'
                      when 'state' then 'active; paused; ended: its spec has no more times; orphaned: a program declared it, and no live worker does any more; '
                                        'unknown task: no worker has declared its task.'
                      when 'is_declared' then 'Whether a program declared it (TASK_SCHEDULE).'
                      when 'last_at' then 'The time of the last tick, as its other last_ columns: schedule_ticks.'
                      when 'last_outcome' then 'What became of it.'
                      when 'last_reason' then 'Why it was skipped.'
                      when 'last_late_ms' then 'How late it was decided.'
                      when 'last_task_id' then 'The task that it enqueued.' end)
      from pg_attribute v
     where v.attrelid = 'dogged.schedule_overview'::regclass and v.attnum > 0 and not v.attisdropped
  loop
    execute format('comment on column dogged.schedule_overview.%I is %L', column_name, meaning);
  end loop;
end $$;
