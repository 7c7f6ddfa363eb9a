-- Waits of tasks that hold no worker (Context::sleep, Context::wait_event), and the events that end them (dogged.emit).
-- schema/events.sql has the functions.

create table dogged.task_waits (
  task_id    bigint not null,
  name       text not null check (octet_length(name) <= 128 and name ~ '^[A-Za-z0-9][A-Za-z0-9._:/-]*$'),
  attempt    integer not null,
  for_event  boolean not null,
  began_at   timestamptz not null,
  until      timestamptz not null,
  arrived_at timestamptz,
  payload    jsonb,
  primary key (task_id, name),
  constraint arrived check (num_nulls(arrived_at, payload) in (0, 2))
);
create index task_waits_event on dogged.task_waits (name) where for_event and arrived_at is null;
comment on table dogged.task_waits is
  'One row for each wait of a task that its handler has not taken note of yet. A wait that is over is a row of task_steps. Rows of '
  'tasks that have ended go with the next retention (dogged.forget_steps).';
comment on column dogged.task_waits.task_id is 'The task: tasks.id.';
comment on column dogged.task_waits.name is 'The name of the event, or of the sleep.';
comment on column dogged.task_waits.attempt is 'The attempt that waits: the latest that has come to the wait.';
comment on column dogged.task_waits.for_event is 'Whether an event ends the wait; false: time alone.';
comment on column dogged.task_waits.began_at is 'When the first attempt came to the wait.';
comment on column dogged.task_waits.until is 'When the wait is over without an event.';
comment on column dogged.task_waits.arrived_at is 'When the event came; null: it has not.';
comment on column dogged.task_waits.payload is 'What the event carries, as JSON.';

create table dogged.events (
  name       text not null check (octet_length(name) <= 128 and name ~ '^[A-Za-z0-9][A-Za-z0-9._:/-]*$'),
  payload    jsonb not null,
  emitted_at timestamptz not null,
  resumed    bigint not null
) partition by range (emitted_at);
create index events_name on dogged.events (name, emitted_at desc);
create table dogged.events_default partition of dogged.events default;
comment on table dogged.events is
  'Events that were emitted (dogged.emit), for tasks that wait for them later. Retention drops partitions of whole days.';
comment on column dogged.events.name is 'The event''s name.';
comment on column dogged.events.payload is 'What the event carries, as JSON.';
comment on column dogged.events.emitted_at is 'When it was emitted.';
comment on column dogged.events.resumed is 'How many tasks waited for it then.';
comment on table dogged.events_default is 'For days that have no partition yet; dogged.make_partitions moves its rows.';

alter table dogged.settings
  add column keep_events_days integer not null default 7,
  add constraint keep_events_days check (keep_events_days between 1 and 3650);
comment on column dogged.settings.keep_events_days is
  'For how many days events are kept for tasks that wait for them later, counted from the end of their day (UTC).';
