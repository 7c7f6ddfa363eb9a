-- dogged.fire_due_ticks(most) enqueues the tasks of all ticks that are due. Workers call it; any number may at a time. A
-- schedule's row is locked while its ticks are decided, and ticks, tasks and the next time are one transaction by the
-- database's clock.
--
-- A tick that finds the task of an earlier one alive is treated as the schedule's overlap says. A tick that is to wait is a
-- row of schedule_ticks that says so. Workers look after its schedule every second until the task before it has ended.

create or replace function dogged.first_waiting_tick(schedule_id bigint) returns timestamptz
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
begin
  return (select min(t.scheduled_at) from dogged.schedule_ticks t
           where t.schedule_id = first_waiting_tick.schedule_id and t.outcome = 'waiting');
end $$;
comment on function dogged.first_waiting_tick(bigint) is 'Internal: the first of the ticks of a schedule that wait; null: none does.';

create or replace function dogged.note_tick(schedule dogged.schedules, tick timestamptz, outcome text, reason text, origin text,
                                            task_id bigint default null, skipped_until timestamptz default null) returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  insert into dogged.schedule_ticks as noted (schedule_id, scheduled_at, outcome, reason, origin, decided_at, late_ms, task_id, skipped_until)
  values (schedule.id, tick, outcome::dogged.tick_outcome, left(reason, 1000), origin, clock_timestamp(),
          case when origin = 'clock'
               then greatest(0, extract(epoch from clock_timestamp() - greatest(tick, case when tick = schedule.next_at then schedule.fires_at end)) * 1000) end,
          task_id, skipped_until)
      on conflict on constraint schedule_ticks_pkey do update
     set outcome = excluded.outcome, reason = excluded.reason, decided_at = excluded.decided_at, task_id = excluded.task_id,
         skipped_until = excluded.skipped_until, origin = excluded.origin, late_ms = excluded.late_ms
   where noted.outcome <> 'fired';
end $$;
comment on function dogged.note_tick(dogged.schedules, timestamptz, text, text, text, bigint, timestamptz) is
  'Internal: writes what became of a tick. A tick that was fired stays as it is.';

-- A task that enqueue refuses (a full queue, a queue that is gone) must not hold up other schedules.
create or replace function dogged.start_tick(schedule dogged.schedules, tick timestamptz, origin text) returns bigint
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  task_id bigint;
begin
  task_id := dogged.enqueue(schedule.task, schedule.args, schedule.queue, priority => schedule.priority,
                            tags => array['schedule:' || schedule.name], args_version => schedule.args_version);
  perform dogged.note_tick(schedule, tick, 'fired', null, origin, task_id);
  return task_id;
exception when invalid_parameter_value or sqlstate '22Q01' or sqlstate '53Q01' then
  perform dogged.note_tick(schedule, tick, 'skipped', sqlerrm, origin);
  return null;
end $$;
comment on function dogged.start_tick(dogged.schedules, timestamptz, text) is
  'Internal: enqueues the task of a tick that has not fired, and returns its id; null if enqueue refuses the task.';

create or replace function dogged.alive_of(tasks bigint[]) returns bigint[]
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
begin
  return array(select l.id from dogged.tasks_live l where l.id = any (tasks));
end $$;
comment on function dogged.alive_of(bigint[]) is 'Internal: those of the tasks that have not ended.';

-- A task that another transaction has locked is passed over. Its handler may keep a transaction open for long, and the ticks of
-- other schedules must not wait for that. While a tick waits, the next call tries again.
create or replace function dogged.cancel_tasks_of(schedule dogged.schedules) returns bigint[]
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  actor constant text := current_setting('dogged.actor', true);
  task_id bigint;
begin
  perform set_config('dogged.actor', 'schedule ' || schedule.name, true);
  for task_id in
    select l.id from dogged.tasks_live l
     where l.id = any (schedule.live_tasks) and l.cancel_requested_at is null
     order by l.id for update skip locked
  loop
    perform dogged.cancel(task_id);
  end loop;
  perform set_config('dogged.actor', coalesce(actor, ''), true);
  return dogged.alive_of(schedule.live_tasks);
end $$;
comment on function dogged.cancel_tasks_of(dogged.schedules) is
  'Internal: cancels the tasks of earlier ticks; returns the tasks that are alive until their handler has stopped.';

-- With cancel_other one tick of the clock waits at a time. Several ticks come from a backfill, or from the overlap of before, and
-- cancel nothing.
create or replace function dogged.is_to_cancel_others(schedule_id bigint) returns boolean
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
begin
  return (select count(*) = 1 and bool_and(t.origin = 'clock') from dogged.schedule_ticks t
           where t.schedule_id = is_to_cancel_others.schedule_id and t.outcome = 'waiting');
end $$;
comment on function dogged.is_to_cancel_others(bigint) is
  'Internal: whether a tick of a schedule with the overlap cancel_other waits for the tasks that it cancels.';

create or replace function dogged.skip_waiting(schedule dogged.schedules, reason text) returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  update dogged.schedule_ticks t set outcome = 'skipped', reason = skip_waiting.reason, decided_at = clock_timestamp()
   where t.schedule_id = schedule.id and t.outcome = 'waiting';
end $$;
comment on function dogged.skip_waiting(dogged.schedules, text) is 'Internal: skips the ticks of a schedule that wait, for this reason.';

create or replace function dogged.start_waiting_tick(schedule dogged.schedules) returns bigint[]
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  first record;
begin
  select t.scheduled_at, t.origin into first
    from dogged.schedule_ticks t
   where t.schedule_id = schedule.id and t.outcome = 'waiting'
   order by t.scheduled_at limit 1;
  return case when found then array_remove(array[dogged.start_tick(schedule, first.scheduled_at, first.origin)], null) else '{}' end;
end $$;
comment on function dogged.start_waiting_tick(dogged.schedules) is
  'Internal: starts the first of the ticks that wait; returns its task, or nothing.';

-- A backfill may have come first, or the clock was set back. A tick of cancel_other takes the place of those that wait, its own
-- among them.
create or replace function dogged.is_tick_decided(schedule_id bigint, tick timestamptz, overlap dogged.schedule_overlap) returns boolean
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
begin
  return exists (select from dogged.schedule_ticks t
                  where t.schedule_id = is_tick_decided.schedule_id and t.scheduled_at = tick
                    and (t.outcome = 'fired' or t.outcome = 'waiting' and is_tick_decided.overlap <> 'cancel_other'));
end $$;
comment on function dogged.is_tick_decided(bigint, timestamptz, dogged.schedule_overlap) is
  'Internal: whether a tick has fired, or waits, so that the clock is not to start it.';

create or replace function dogged.decide_tick(schedule dogged.schedules, tick timestamptz, overlap dogged.schedule_overlap, origin text)
returns bigint[]
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  waiting integer;
begin
  if dogged.is_tick_decided(schedule.id, tick, overlap) then return schedule.live_tasks; end if;
  if overlap = 'cancel_other' then
    perform dogged.skip_waiting(schedule, 'superseded');
    schedule.live_tasks := dogged.cancel_tasks_of(schedule);
  end if;
  if cardinality(schedule.live_tasks) = 0 or overlap = 'allow_all' then
    return array_remove(schedule.live_tasks || dogged.start_tick(schedule, tick, origin), null);
  end if;
  waiting := (select count(*) from dogged.schedule_ticks t where t.schedule_id = schedule.id and t.outcome = 'waiting');
  if overlap = 'skip' or (overlap = 'buffer_one' and waiting > 0) then
    perform dogged.note_tick(schedule, tick, 'skipped', 'overlap', origin);
  elsif waiting >= 1000 then
    perform dogged.note_tick(schedule, tick, 'skipped', 'full', origin);
  else
    perform dogged.note_tick(schedule, tick, 'waiting', null, origin);
  end if;
  return schedule.live_tasks;
end $$;
comment on function dogged.decide_tick(dogged.schedules, timestamptz, dogged.schedule_overlap, text) is
  'Internal: starts a tick, lets it wait or skips it, by the schedule''s tasks that are alive; returns those that are alive afterwards.';

-- A tick counts as missed when it is 30 s late. A worker that was busy for less time causes no missed tick.
create or replace function dogged.first_to_fire(schedule dogged.schedules, now_at timestamptz) returns timestamptz
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
declare
  on_time constant timestamptz := now_at - interval '30 seconds' - schedule.jitter_ms * interval '1 millisecond';
  -- A backfill may have fired ticks of a day that retention has dropped since. No row records those ticks any more.
  on_record constant timestamptz := (select s.ticks_since::timestamp at time zone 'UTC' from dogged.settings s);
  -- The window leaves out no tick that is not missed yet, however short it is and however long the jitter. Null: no limit.
  oldest constant timestamptz := greatest(schedule.next_at, on_record, case when schedule.catch_up_ms is not null then
    least(now_at - schedule.catch_up_ms * interval '1 millisecond', on_time + interval '1 microsecond') end);
  span interval := '1 minute';
  tick timestamptz;
  latest timestamptz[];
begin
  if schedule.next_at > on_time and schedule.next_at >= on_record then return schedule.next_at; end if;
  if schedule.catch_up_limit = 0 then
    return dogged.next_tick(schedule.compiled, schedule.time_zone, greatest(on_time, on_record - interval '1 microsecond'));
  end if;
  if schedule.catch_up_limit is null then
    return dogged.next_tick(schedule.compiled, schedule.time_zone, oldest - interval '1 microsecond');
  end if;
  -- The latest ticks of the window: it is searched from its end, further back each time.
  loop
    latest := '{}';
    tick := greatest(oldest, on_time - span) - interval '1 microsecond';
    loop
      tick := dogged.next_tick(schedule.compiled, schedule.time_zone, tick);
      exit when tick is null or tick > on_time;
      latest := case when cardinality(latest) = schedule.catch_up_limit then latest[2:] else latest end || tick;
    end loop;
    if cardinality(latest) = schedule.catch_up_limit or on_time - span <= oldest then return coalesce(latest[1], tick); end if;
    span := span * 2;
  end loop;
end $$;
comment on function dogged.first_to_fire(dogged.schedules, timestamptz) is
  'Internal: the first tick that is to be made up for, or that is not missed. Those before it are skipped.';

create or replace function dogged.skip_until(schedule dogged.schedules, until_time timestamptz, reason text) returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  tick timestamptz := schedule.next_at;
begin
  -- A backfill may have taken the first of them.
  while exists (select from dogged.schedule_ticks t
                 where t.schedule_id = schedule.id and t.scheduled_at = tick and t.outcome <> 'skipped') loop
    tick := dogged.next_tick(schedule.compiled, schedule.time_zone, tick);
  end loop;
  if tick < until_time then
    perform dogged.note_tick(schedule, tick, 'skipped', reason, 'clock', skipped_until => until_time);
  end if;
end $$;
comment on function dogged.skip_until(dogged.schedules, timestamptz, text) is
  'Internal: writes one row for the ticks of a schedule from its next one until before until_time, which do not fire for this reason.';

create or replace function dogged.fire_schedule(schedule dogged.schedules, now_at timestamptz) returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  first constant timestamptz := dogged.first_to_fire(schedule, now_at);
  live bigint[];
begin
  schedule.live_tasks := dogged.alive_of(schedule.live_tasks);
  if schedule.overlap = 'cancel_other' and dogged.is_to_cancel_others(schedule.id) then
    schedule.live_tasks := dogged.cancel_tasks_of(schedule);
  end if;
  if cardinality(schedule.live_tasks) = 0 then schedule.live_tasks := dogged.start_waiting_tick(schedule); end if;
  if first > schedule.next_at then
    perform dogged.skip_until(schedule, first, 'missed');
    schedule.last_tick_at := greatest(schedule.last_tick_at, first - interval '1 microsecond');
    schedule.next_at := first;
  end if;
  -- A long catch-up goes on in the next call, after the others that are due.
  for i in 1 .. 20 loop
    schedule.fires_at := dogged.fires_at_of(schedule);
    exit when schedule.fires_at > now_at or schedule.next_at is null;
    live := dogged.decide_tick(schedule, schedule.next_at, schedule.overlap, 'clock');
    -- With allow_all, the ticks of a backfill wait for its tasks alone.
    if schedule.overlap <> 'allow_all' then schedule.live_tasks := live; end if;
    schedule.last_tick_at := schedule.next_at;
    schedule.next_at := dogged.next_tick(schedule.compiled, schedule.time_zone, schedule.next_at);
  end loop;
  update dogged.schedules s
     set next_at = schedule.next_at, last_tick_at = schedule.last_tick_at,
         -- With allow_all, only the ticks of a backfill wait for earlier tasks.
         live_tasks = case when schedule.overlap = 'allow_all' and dogged.first_waiting_tick(schedule.id) is null then '{}' else schedule.live_tasks end,
         fires_at = dogged.looked_after_at(schedule, now_at)
   where s.id = schedule.id;
end $$;
comment on function dogged.fire_schedule(dogged.schedules, timestamptz) is 'Internal: decides the ticks of a locked schedule that are due.';

-- The server may not know a time zone any more: its tzdata has dropped the name, or a failover went to another system.
-- Such a schedule must not hold up other schedules. A worker looks again each minute.
create or replace function dogged.fire_or_put_off(schedule dogged.schedules, now_at timestamptz) returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  perform dogged.fire_schedule(schedule, now_at);
exception when invalid_parameter_value then
  if dogged.time_in(now_at, schedule.time_zone) is not null then raise; end if;  -- a mistake of dogged's own
  perform dogged.note_tick(schedule, schedule.next_at, 'skipped', sqlerrm, 'clock');
  update dogged.schedules s set last_tick_at = schedule.next_at, fires_at = now_at + interval '1 minute' where s.id = schedule.id;
end $$;
comment on function dogged.fire_or_put_off(dogged.schedules, timestamptz) is
  'Internal: as fire_schedule. If the time zone of the schedule is not known any more, its next tick is skipped with that reason.';

create or replace function dogged.fire_due_ticks(most integer default 100, out schedules integer, out due_in_ms bigint)
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  schedule dogged.schedules;
  now_at constant timestamptz := clock_timestamp();
begin
  schedules := 0;
  for schedule in
    select s.* from dogged.schedules s where s.fires_at <= now_at order by s.fires_at limit fire_due_ticks.most for update skip locked
  loop
    perform dogged.fire_or_put_off(schedule, now_at);
    schedules := schedules + 1;
  end loop;
  due_in_ms := (select ceil(extract(epoch from min(s.fires_at) - clock_timestamp()) * 1000) from dogged.schedules s);
end $$;
comment on function dogged.fire_due_ticks(integer) is
  'Fires the ticks of up to `most` schedules that are due, in the caller''s transaction; schedules that another call has locked are left '
  'to it. schedules: how many it has handled; due_in_ms: when the next is due, null if there is none.';

-- The spec's times from now on are not the next ticks. A schedule whose clock was ahead has decided some of them. An overdue
-- schedule makes up for earlier times.
create or replace function dogged.next_ticks_of(name text, most integer default 10)
returns table (scheduled_at timestamptz, fires_at timestamptz)
language plpgsql stable security definer set search_path = pg_catalog, pg_temp as $$
declare
  schedule dogged.schedules;
  now_at constant timestamptz := clock_timestamp();
  listed integer := 0;
begin
  select s.* into schedule from dogged.schedules s where s.name = next_ticks_of.name;
  perform dogged.require_number_of_ticks(most);
  if schedule.next_at is null then return; end if;
  if dogged.time_in(now_at, schedule.time_zone) is null then perform dogged.require_time_zone(name, schedule.time_zone); end if;
  schedule.next_at := case when schedule.paused_at is null then dogged.first_to_fire(schedule, now_at)
                           else dogged.next_tick(schedule.compiled, schedule.time_zone, greatest(now_at, schedule.last_tick_at)) end;
  for i in 1 .. 10000 loop
    exit when schedule.next_at is null or listed >= most;
    if not dogged.is_tick_decided(schedule.id, schedule.next_at, schedule.overlap) then
      scheduled_at := schedule.next_at;
      fires_at := greatest(fires_at, dogged.fires_at_of(schedule));
      listed := listed + 1;
      return next;
    end if;
    schedule.next_at := dogged.next_tick(schedule.compiled, schedule.time_zone, schedule.next_at);
  end loop;
end $$;
comment on function dogged.next_ticks_of(text, integer) is
  'The next ticks of a schedule, beginning with the one that a worker would fire next: its time by the spec, and with its jitter. Those of '
  'a paused schedule are the ticks that it would have if it were resumed now. No rows: there is no such schedule, or its spec has no more times.';

create or replace function dogged.run_schedule(name text) returns bigint
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  schedule constant dogged.schedules := dogged.lock_schedule(run_schedule.name);
  task_id constant bigint := dogged.enqueue(schedule.task, schedule.args, schedule.queue, priority => schedule.priority,
                                            tags => array['schedule:' || schedule.name], args_version => schedule.args_version);
begin
  perform dogged.note_tick(schedule, clock_timestamp(), 'fired', null, 'hand', task_id);
  update dogged.schedules s set live_tasks = dogged.alive_of(s.live_tasks) || task_id where s.id = schedule.id;
  perform dogged.record_audit('run_schedule', task_id, jsonb_build_object('schedule', name));
  return task_id;
end $$;
comment on function dogged.run_schedule(text) is
  'Enqueues the task of a schedule now, whatever its overlap says, also while it is paused. Later ticks find the task alive as that of an '
  'earlier tick. Returns the task''s id.';

create or replace function dogged.ticks_to_backfill(schedule dogged.schedules, from_time timestamptz, until_time timestamptz)
returns timestamptz[]
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
declare
  most constant integer := 1000;
  tick timestamptz := from_time - interval '1 microsecond';
  found_ticks timestamptz[] := '{}';
begin
  loop
    tick := dogged.next_tick(schedule.compiled, schedule.time_zone, tick);
    exit when tick is null or tick >= until_time;
    if cardinality(found_ticks) = most then
      perform dogged.refuse_schedule(schedule.name, format('it has more than %s times from %s to %s', most, from_time, until_time),
                                     format('Nothing was enqueued. Backfill up to %s first, and then the rest.', tick));
    end if;
    found_ticks := found_ticks || tick;
  end loop;
  return found_ticks;
end $$;
comment on function dogged.ticks_to_backfill(dogged.schedules, timestamptz, timestamptz) is
  'Internal: the times of a schedule in a range. Raises an error for more than 1000.';

-- Without this, the ticks of a range but its first would be on record nowhere once a backfill has decided the first. If the
-- schedule was changed since, the rest of the range need not begin at one of its present times.
create or replace function dogged.hand_range_on(schedule dogged.schedules, skipped dogged.schedule_ticks) returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  schedule.next_at := case when schedule.changed_at > skipped.decided_at then skipped.scheduled_at + interval '1 microsecond'
                           else dogged.next_tick(schedule.compiled, schedule.time_zone, skipped.scheduled_at) end;
  schedule.fires_at := schedule.next_at;
  perform dogged.skip_until(schedule, skipped.skipped_until, skipped.reason);
end $$;
comment on function dogged.hand_range_on(dogged.schedules, dogged.schedule_ticks) is
  'Internal: writes a row for the rest of a range of skipped ticks, the first of which was decided anew.';

create or replace function dogged.backfill_schedule(name text, from_time timestamptz, until_time timestamptz, overlap text default 'buffer_all')
returns integer
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  schedule dogged.schedules := dogged.lock_schedule(backfill_schedule.name);
  tick timestamptz;
  before dogged.schedule_ticks;
  started integer := 0;
  -- Partitions of ticks hold days of UTC.
  kept_since constant timestamptz :=
    (select greatest(s.ticks_since, (clock_timestamp() at time zone 'UTC')::date - s.keep_ticks_days)::timestamp at time zone 'UTC' from dogged.settings s);
begin
  if (backfill_schedule.overlap in ('buffer_all', 'allow_all')) is not true then
    perform dogged.refuse_schedule(name, format('the overlap of its backfill is %s', coalesce('"' || left(backfill_schedule.overlap, 60) || '"', 'null')),
                                   'Give buffer_all (one task after the other) or allow_all (all at once): with the others most ticks would do nothing.');
  elsif isfinite(from_time) is not true then
    perform dogged.refuse_schedule(name, format('the from_time of its backfill is %s', coalesce(from_time::text, 'null')), 'Give a time.');
  elsif isfinite(until_time) is not true then
    perform dogged.refuse_schedule(name, format('the until_time of its backfill is %s', coalesce(until_time::text, 'null')), 'Give a time.');
  elsif from_time >= until_time then
    perform dogged.refuse_schedule(name, format('its backfill is from %s to %s', from_time, until_time),
                                   'Give a range that begins before it ends.');
  elsif until_time > clock_timestamp() then
    perform dogged.refuse_schedule(name, format('its backfill ends at %s, which is to come (it is %s)', until_time, clock_timestamp()),
                                   'Workers fire the ticks to come. End the range now at the latest.');
  elsif from_time < kept_since then
    perform dogged.refuse_schedule(name, format('its backfill begins at %s, and ticks of before %s are not on record any more', from_time, kept_since),
                                   format('Begin at %s or later: what fired before would fire again. dogged.settings.keep_ticks_days says for how long ticks '
                                          'to come are kept.', kept_since));
  end if;
  perform dogged.require_time_zone(name, schedule.time_zone);
  schedule.live_tasks := dogged.alive_of(schedule.live_tasks);
  foreach tick in array dogged.ticks_to_backfill(schedule, from_time, until_time) loop
    select t.* into before from dogged.schedule_ticks t where t.schedule_id = schedule.id and t.scheduled_at = tick;
    continue when before.outcome <> 'skipped';
    schedule.live_tasks := dogged.decide_tick(schedule, tick, backfill_schedule.overlap::dogged.schedule_overlap, 'backfill');
    if before.skipped_until is not null then perform dogged.hand_range_on(schedule, before); end if;
    started := started + (select count(*) from dogged.schedule_ticks t
                           where t.schedule_id = schedule.id and t.scheduled_at = tick and t.outcome <> 'skipped');
  end loop;
  update dogged.schedules s
     set live_tasks = case when backfill_schedule.overlap = 'allow_all' then s.live_tasks else schedule.live_tasks end,
         -- A backfill in a pause may decide a tick after next_at. The ticks between are undecided, and after a clock that was
         -- set back, resume_schedule would pass over them.
         last_tick_at = greatest(s.last_tick_at, case when (tick >= s.next_at) is not true then tick end),
         fires_at = case when s.paused_at is null then dogged.looked_after_at(s, clock_timestamp()) end
   where s.id = schedule.id;
  perform pg_notify('dogged.schedules', '');
  perform dogged.record_audit('backfill_schedule', null, jsonb_build_object('schedule', name, 'from', from_time, 'until', until_time,
                                                                            'overlap', backfill_schedule.overlap, 'ticks', started));
  return started;
end $$;
comment on function dogged.backfill_schedule(text, timestamptz, timestamptz, text) is
  'Makes up for the times of a schedule from from_time until before until_time that have not fired, up to 1000, whatever was skipped. from_time: not '
  'before the days of settings.keep_ticks_days. overlap: '
  'buffer_all, one task after the other, or allow_all, all at once. Returns how many ticks will run or wait.';
