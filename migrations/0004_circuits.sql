-- Circuit breakers that all workers share. src/circuit makes the decisions; the types and tables here hold its state.

create type dogged.circuit_state as enum ('closed', 'open', 'half_open');
comment on type dogged.circuit_state is 'closed: tasks run; open: tasks are deferred; half_open: a few tasks run as probes.';

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
  'Circuit breakers (.circuit of a task). While a circuit is open, its tasks are deferred and spend no attempt. `dogged circuits` '
  'opens and closes a circuit by hand. The settings are those of the worker that started last.';
comment on column dogged.circuits.name is 'The circuit''s name, as in .circuit of its tasks.';
comment on column dogged.circuits.failure_threshold is
  'This many attempts in a row that fail with an error code that their task retries open the circuit.';
comment on column dogged.circuits.recovery_timeout_ms is
  'How long an open circuit lets no task run. After that the circuit is half-open.';
comment on column dogged.circuits.success_threshold is
  'This many successes close a half-open circuit. At most this many probes run at once.';
comment on column dogged.circuits.state is 'Whether tasks of the circuit run: closed, open or half_open.';
comment on column dogged.circuits.failures is 'Failures in a row, while the circuit is closed.';
comment on column dogged.circuits.successes is 'Successes of probes, while the circuit is half-open.';
comment on column dogged.circuits.probes is 'Probes that run now, while the circuit is half-open.';
comment on column dogged.circuits.is_forced is
  'Whether the circuit was opened by hand. Such a circuit stays open until it is closed by hand.';
comment on column dogged.circuits.since is 'Open: when the circuit was opened; half-open: when the last probe was let through.';
comment on column dogged.circuits.generation is
  'The number of the current state. Reports of attempts from an earlier state do not count.';
comment on column dogged.circuits.changed_at is 'When the state last changed.';

alter table dogged.task_definitions add column circuit text;
comment on column dogged.task_definitions.circuit is
  'The circuit breaker that the task shares with other tasks (circuits); null: none.';
