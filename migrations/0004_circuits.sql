-- Circuit breakers that all workers share. src/circuit makes the decisions; the types and tables here hold its state.

create type dogged.circuit_state as enum ('closed', 'open', 'half_open');
comment on type dogged.circuit_state is 'closed: tasks run; open: they are put off; half_open: a few run to find out.';

create table dogged.circuits (
  name                text primary key
                      check (octet_length(name) <= 128 and name ~ '^[A-Za-z0-9][A-Za-z0-9._:/-]*$'),
  failure_threshold   integer not null default 5 check (failure_threshold between 1 and 1000),
  recovery_timeout_ms bigint not null default 30000 check (recovery_timeout_ms between 1 and 86400000),
  success_threshold   integer not null default 2 check (success_threshold between 1 and 1000),
  state               dogged.circuit_state not null default 'closed',
  failures            integer not null default 0,
  successes           integer not null default 0,
  probes              integer not null default 0,
  is_forced           boolean not null default false,
  since               timestamptz not null default clock_timestamp(),
  generation          bigint not null default 0,
  changed_at          timestamptz not null default clock_timestamp()
) with (fillfactor = 50);
comment on table dogged.circuits is
  'Circuit breakers (.circuit of a task). While one is open, tasks of that circuit do not run: they are put off, and no attempt is '
  'spent. `dogged circuits` opens and closes one by hand; its settings are those of the worker that started last.';
comment on column dogged.circuits.name is 'As .circuit of the tasks says.';
comment on column dogged.circuits.failure_threshold is
  'So many attempts that failed with a code that their task retries, one after another, open it.';
comment on column dogged.circuits.recovery_timeout_ms is 'So long nothing runs then; after that it is half-open.';
comment on column dogged.circuits.success_threshold is
  'So many successes close a half-open circuit, and so many tasks run at once to find out.';
comment on column dogged.circuits.state is 'Whether tasks of it run: closed, open or half_open.';
comment on column dogged.circuits.failures is 'In a row, while it is closed.';
comment on column dogged.circuits.successes is 'Of probes, while it is half-open.';
comment on column dogged.circuits.probes is 'Tasks that run to find out, while it is half-open.';
comment on column dogged.circuits.is_forced is 'Opened by hand: it stays open until it is closed by hand.';
comment on column dogged.circuits.since is 'Open: since when; half-open: when the last probe was let through.';
comment on column dogged.circuits.generation is 'What attempts of an earlier state report does not count.';
comment on column dogged.circuits.changed_at is 'When its state changed last.';

alter table dogged.task_definitions add column circuit text;
comment on column dogged.task_definitions.circuit is 'The circuit breaker that it shares with others (circuits); null: none.';
