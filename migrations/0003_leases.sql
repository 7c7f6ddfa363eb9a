-- Leases that end, and cancellation. A worker renews its lease with each heartbeat. Once the lease has lapsed, any
-- worker may end it and rescue the tasks that were held under it.

alter table dogged.workers
  add column lease_ms          bigint not null default 30000 check (lease_ms > 0),
  add column lease_until       timestamptz not null default clock_timestamp(),
  add column lease_ended_at    timestamptz,
  add column rescued_at        timestamptz,
  add column claim_session     bigint not null default 0,
  add column fenced            bigint not null default 0,
  add column abandoned_threads integer not null default 0,
  add column clock_ahead_ms    bigint,
  add column clock_uncertainty_ms bigint;
alter table dogged.workers alter column lease_until drop default;
-- All runs so far began before leases existed: the next worker rescues the tasks that these runs hold.
update dogged.workers set lease_ended_at = clock_timestamp(), asleep = false;

comment on column dogged.workers.heartbeat_at is 'When the worker last renewed its lease.';
comment on column dogged.workers.lease_ms is 'How long a renewal lasts: the worker''s setting --lease.';
comment on column dogged.workers.lease_until is
  'No other worker may end the lease before this time; each heartbeat moves this time on.';
comment on column dogged.workers.lease_ended_at is
  'When the lease was ended. Another worker ends a lapsed lease, also the lease of a stopped worker. A worker ends its own lease '
  'when it goes on as a new run. An ended lease can neither be renewed nor claimed under, and the tasks held under it are rescued.';
comment on column dogged.workers.rescued_at is 'When no task was held under the ended lease any more.';
comment on column dogged.workers.claim_session is
  'The worker raises this number when the answer to a claim or a release was lost. A late statement of an earlier session then '
  'changes nothing.';
comment on column dogged.workers.fenced is
  'Reports and releases that changed nothing because the worker no longer held the task. The number is that of the whole process, '
  'earlier runs included, as of the last heartbeat. Do not add these numbers up over the runs of a process.';
comment on column dogged.workers.abandoned_threads is
  'Threads whose handler did not end after its stop token was set. The worker ended the attempt without the handler.';
comment on column dogged.workers.clock_ahead_ms is
  'By how many milliseconds the clock of the worker''s host was ahead of the server''s clock (negative: behind). Measured beside '
  'the heartbeat before the last one, or at registration. Only the host''s own logs depend on this clock.';
comment on column dogged.workers.clock_uncertainty_ms is
  'By how much clock_ahead_ms may be wrong: half of the time that the answer took.';

-- Indexes of the leases that may lapse, and of the workers whose tasks must be rescued. Both indexes are small,
-- whatever the table's age. lease_until is in no index, and each page has free room, so a heartbeat changes no index
-- (docs/decisions/0012).
alter table dogged.workers set (fillfactor = 50);
create index workers_lease on dogged.workers (id) where lease_ended_at is null;
create index workers_to_rescue on dogged.workers (id) where lease_ended_at is not null and rescued_at is null;
-- Two workers cannot have the same name at the same time.
create unique index workers_name on dogged.workers (name) where lease_ended_at is null and stopped_at is null;

-- The list of the tasks that a worker holds, so that a claim changes no index of tasks_live. Every claim writes an
-- entry. The worker sums up its entries about once a second, and the rescuer deletes the last ones.
create table dogged.claims (
  worker_id bigint not null,
  id        bigint not null generated always as identity,
  task_ids  bigint[] not null,
  primary key (worker_id, id)
) with (toast_tuple_target = 8160, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000,
        autovacuum_vacuum_cost_delay = 0);
alter table dogged.claims alter column task_ids set storage main;  -- a thousand ids stay in the row
insert into dogged.claims (worker_id, task_ids)
select worker_id, array_agg(id) from dogged.tasks_live where status = 'running' group by worker_id;
comment on table dogged.claims is
  'The claims of workers. Every running task is in an entry of its worker. An entry may also name tasks that the worker does not '
  'hold, or no longer holds.';
comment on column dogged.claims.worker_id is 'The lease: workers.id.';
comment on column dogged.claims.id is 'Ascends in the order in which the worker wrote the entries.';
comment on column dogged.claims.task_ids is 'The ids of the claimed tasks.';

-- Rescue finds the tasks of a dead worker by the worker's row and its claims, so that row must stay until then.
create function dogged.refuse_to_forget_worker() returns trigger language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  if exists (select from dogged.tasks_live t
              where t.id = any (array(select unnest(c.task_ids) from dogged.claims c where c.worker_id = old.id))
                and t.worker_id = old.id and t.status = 'running') then
    raise exception 'worker % (%) still holds tasks', old.id, old.name
      using errcode = 'restrict_violation',
            hint = 'They are rescued when its lease has ended: delete the row when rescued_at is set.';
  end if;
  delete from dogged.claims where worker_id = old.id;
  return old;
end $$;
comment on function dogged.refuse_to_forget_worker() is 'Keeps a worker''s row for as long as tasks run under its lease.';
create trigger refuse_to_forget before delete on dogged.workers
  for each row execute function dogged.refuse_to_forget_worker();

alter table dogged.tasks add column cancel_requested_at timestamptz;
comment on column dogged.tasks.cancel_requested_at is
  'When dogged.cancel was called while an attempt ran. The worker asks the handler to stop. Unless the attempt succeeds all the '
  'same, the task ends as cancelled.';
-- Workers poll this index while they run tasks.
create index tasks_live_cancelling on dogged.tasks_live (id) where cancel_requested_at is not null;

comment on column dogged.task_attempts.started_at is 'When the handler began; for a lost attempt, when the task was claimed.';
comment on column dogged.task_attempts.finished_at is
  'When the handler ended, called complete_in, or was given up; for a lost attempt, when the task was rescued.';
