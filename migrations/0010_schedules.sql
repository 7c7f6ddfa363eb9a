-- Schedules enqueue tasks at times of their own. schema/cron.sql evaluates their specs; schema/schedules.sql has the
-- functions that change and fire them.

create type dogged.compiled_spec as (
  every_seconds      bigint,
  seconds            bigint,
  minutes            bigint,
  hours              bigint,
  days               bigint,
  months             bigint,
  weekdays           bigint,
  is_either_day      boolean,
  is_by_elapsed_time boolean
);
comment on type dogged.compiled_spec is
  'What a schedule''s spec means (dogged.compile_spec): the seconds between its times, or sets of the numbers that its fields may '
  'have, one bit for each.';

create type dogged.schedule_overlap as enum ('skip', 'buffer_one', 'buffer_all', 'cancel_other', 'allow_all');
comment on type dogged.schedule_overlap is
  'What becomes of a tick whose schedule''s last task has not ended (docs/schedules.md).';
create type dogged.tick_outcome as enum ('fired', 'waiting', 'skipped');
comment on type dogged.tick_outcome is
  'fired: the tick''s task was enqueued; waiting: it will be when the task before it has ended; skipped: there is none.';

create table dogged.schedules (
  id             bigint primary key generated always as identity,
  name           text not null unique check (octet_length(name) <= 128 and name ~ '^[A-Za-z0-9][A-Za-z0-9._:/-]*$'),
  task           text not null,
  spec           text not null,
  time_zone      text not null,
  compiled       dogged.compiled_spec not null,
  args           jsonb not null,
  args_version   smallint,
  queue          text,
  priority       smallint not null,
  jitter_ms      bigint not null,
  overlap        dogged.schedule_overlap not null,
  catch_up_ms    bigint,
  catch_up_limit integer,
  next_at        timestamptz,
  fires_at       timestamptz,
  live_tasks     bigint[] not null default '{}',
  last_tick_at   timestamptz,
  paused_at      timestamptz,
  declared       jsonb,
  declared_at    timestamptz,
  created_at     timestamptz not null default clock_timestamp(),
  changed_at     timestamptz not null default clock_timestamp()
) with (fillfactor = 70);
-- Every worker looks for the first of them.
create index schedules_due on dogged.schedules (fires_at) where fires_at is not null;
comment on table dogged.schedules is
  'What is enqueued periodically. Workers fire what is due; dogged.schedule(…) and the functions beside it change schedules, and programs '
  'declare them.';
comment on column dogged.schedules.id is 'Stays when the schedule is renamed, and is never given again: ticks are kept by it.';
comment on column dogged.schedules.name is 'The schedule''s name.';
comment on column dogged.schedules.task is 'The name of the task that it enqueues.';
comment on column dogged.schedules.spec is 'When it fires, as it was written: 0 3 * * *, @daily, every 90s.';
comment on column dogged.schedules.time_zone is 'The IANA time zone in which the spec is read.';
comment on column dogged.schedules.compiled is 'What the spec means.';
comment on column dogged.schedules.args is 'The args of its tasks. Show them to people only through dogged.redacted(task, args).';
comment on column dogged.schedules.args_version is 'The version of the args in the task''s key; null: 1.';
comment on column dogged.schedules.queue is 'The queue of its tasks; null: that of the task''s definition.';
comment on column dogged.schedules.priority is 'The priority of its tasks.';
comment on column dogged.schedules.jitter_ms is
  'Each tick is put off by up to this long, always by the same time for the same tick, so that many schedules of one time spread.';
comment on column dogged.schedules.overlap is 'What becomes of a tick while the task of an earlier tick has not ended.';
comment on column dogged.schedules.catch_up_ms is
  'Ticks that nobody could fire in time are made up for while they are no older than this; null: however old.';
comment on column dogged.schedules.catch_up_limit is
  'How many of them at most, the latest; 0: none; null: all.';
comment on column dogged.schedules.next_at is 'The time of the next tick, without its jitter; null: the spec has no more.';
comment on column dogged.schedules.fires_at is
  'When a worker is to look after it: when the next tick is due, or a tick waits; null: it is paused.';
comment on column dogged.schedules.live_tasks is 'Tasks of its ticks that had not ended when it last fired.';
comment on column dogged.schedules.last_tick_at is 'The latest tick that was decided. No later change makes a tick at or before it.';
comment on column dogged.schedules.paused_at is 'When it was paused; null: it is not.';
comment on column dogged.schedules.declared is 'Its settings as the program declared them that is in force; null: no program has.';
comment on column dogged.schedules.declared_at is 'When that declaration was first seen.';
comment on column dogged.schedules.created_at is 'When it was created.';
comment on column dogged.schedules.changed_at is 'When its settings were last changed.';

-- Unique by schedule and time: no tick is fired again, whatever became of its task.
create table dogged.schedule_ticks (
  schedule_id  bigint not null,
  scheduled_at timestamptz not null,
  outcome      dogged.tick_outcome not null,
  reason       text,
  origin       text not null,
  decided_at   timestamptz not null,
  late_ms      bigint,
  task_id      bigint,
  skipped_until timestamptz,
  primary key (schedule_id, scheduled_at)
) partition by range (scheduled_at);
create index schedule_ticks_waiting on dogged.schedule_ticks (schedule_id, scheduled_at) where outcome = 'waiting';
-- `dogged exporter` and `dogged doctor` ask for ticks that were decided lately. A handler asks for the tick of its task.
create index schedule_ticks_decided on dogged.schedule_ticks (decided_at);
create index schedule_ticks_task on dogged.schedule_ticks (task_id) where task_id is not null;
create table dogged.schedule_ticks_default partition of dogged.schedule_ticks default;
comment on table dogged.schedule_ticks is 'One row for each tick of a schedule: its task, or the reason why it has none.';
comment on column dogged.schedule_ticks.schedule_id is 'The schedule: schedules.id. It may be gone.';
comment on column dogged.schedule_ticks.scheduled_at is 'The tick''s time by the spec, without jitter.';
comment on column dogged.schedule_ticks.outcome is 'Whether its task was enqueued.';
comment on column dogged.schedule_ticks.reason is
  'Why it was skipped: overlap (the task before it had not ended), missed (nobody could fire it in time), paused, superseded (a later tick took '
  'the place in which it waited), deleted (its schedule was), full (1000 ticks wait), or the error of the enqueue. Null where it was not skipped.';
comment on column dogged.schedule_ticks.origin is 'Where the tick comes from: the clock, a backfill, or a run by hand (hand).';
comment on column dogged.schedule_ticks.decided_at is 'When the outcome was decided.';
comment on column dogged.schedule_ticks.late_ms is 'How long after its time, with its jitter, that was; null for a backfill.';
comment on column dogged.schedule_ticks.task_id is 'The task that was enqueued: tasks.id. It may have been dropped since.';
comment on column dogged.schedule_ticks.skipped_until is
  'For ticks that were missed or fell into a pause: this row stands for all ticks from scheduled_at until before this time.';
comment on table dogged.schedule_ticks_default is 'For days that have no partition yet; dogged.make_partitions moves its rows.';

alter table dogged.settings
  add column keep_ticks_days integer not null default 30,
  add column ticks_since date not null default '-infinity',
  add constraint keep_ticks_days check (keep_ticks_days between 1 and 3650);
comment on column dogged.settings.keep_ticks_days is 'For how many days the ticks of schedules are kept, counted from the end of their day (UTC).';
comment on column dogged.settings.ticks_since is
  'No ticks of days (UTC) before this one are on record any more, whatever keep_ticks_days is now. Set by dogged.drop_oldest_day.';

create function dogged.tell_of_schedules() returns trigger language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  perform pg_notify('dogged.schedules', '');
  return null;
end $$;
comment on function dogged.tell_of_schedules() is 'Notifies workers of a schedule that is new, or whose settings were changed.';
create trigger tell_workers after insert or update of spec, time_zone, jitter_ms, paused_at on dogged.schedules
  for each statement execute function dogged.tell_of_schedules();

insert into dogged.locks (name) values ('schedules');
comment on column dogged.locks.name is
  'partitions: creating and dropping partitions, retention. import: importing dead letters. schedules: declaring schedules.';

create table dogged.schedule_declarations (
  name          text not null,
  settings      jsonb not null,
  first_seen_at timestamptz not null default clock_timestamp()
);
create index schedule_declarations_name on dogged.schedule_declarations (name);
comment on table dogged.schedule_declarations is
  'Every declaration that a program has made of a schedule (TASK_SCHEDULE): it tells which of two versions of a program is the newer.';
comment on column dogged.schedule_declarations.name is 'The schedule''s name.';
comment on column dogged.schedule_declarations.settings is 'What was declared, as dogged.set_schedule takes it.';
comment on column dogged.schedule_declarations.first_seen_at is 'When a worker first declared this.';

alter table dogged.workers add column schedules jsonb;
comment on column dogged.workers.schedules is 'The schedules that the worker''s program declares, with their settings by name; null: none.';
