-- Records manual actions, with their actor and time.

create table dogged.audit (
  id          bigint primary key generated always as identity,
  at          timestamptz not null default clock_timestamp(),
  actor       text not null,
  application text not null,
  action      text not null,
  task_id     bigint,
  details     jsonb not null default '{}'
);
create index audit_task on dogged.audit (task_id, id) where task_id is not null;
comment on table dogged.audit is
  'Changes that people made by hand: cancelled, replayed, rescheduled and purged tasks, paused queues, opened circuits. '
  'Append-only: UPDATE, DELETE and TRUNCATE are refused.';
comment on column dogged.audit.id is 'Ascends in the order of writing.';
comment on column dogged.audit.at is 'When the action was done.';
comment on column dogged.audit.actor is
  'The actor: the session''s setting dogged.actor (the dogged command sets it to user@host), else the database''s session_user.';
comment on column dogged.audit.application is 'The session''s application_name.';
comment on column dogged.audit.action is 'The action: cancel, replay, purge, pause_queue …';
comment on column dogged.audit.task_id is 'The task of an action on one task; null for an action on a queue or a circuit.';
comment on column dogged.audit.details is 'The other parameters of the action, and the values that it replaced.';

create function dogged.refuse_change_of_audit() returns trigger language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  raise exception '% of % is refused: what was done stays recorded', tg_op, tg_relid::regclass
    using errcode = 'restrict_violation';
end $$;
comment on function dogged.refuse_change_of_audit() is 'Keeps the audit append-only.';
create trigger refuse_change before update or delete or truncate on dogged.audit
  execute function dogged.refuse_change_of_audit();
