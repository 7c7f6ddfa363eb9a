-- dogged.record_audit(action, task_id, details): notes who does it, in the caller's transaction. What is done to many tasks
-- at once inserts its rows by itself, with dogged.audit_actor().

create or replace function dogged.audit_actor() returns text
language sql stable return coalesce(nullif(current_setting('dogged.actor', true), ''), session_user);
comment on function dogged.audit_actor() is
  'Who acts: the setting dogged.actor of the session, else the database''s session_user.';

create or replace function dogged.record_audit(action text, task_id bigint default null, details jsonb default '{}')
returns void language sql volatile security definer begin atomic
  insert into dogged.audit (actor, application, action, task_id, details)
  values (dogged.audit_actor(), coalesce(current_setting('application_name', true), ''), record_audit.action,
          record_audit.task_id, coalesce(record_audit.details, '{}'));
end;
comment on function dogged.record_audit(text, bigint, jsonb) is 'Writes a row of dogged.audit in the caller''s transaction.';
