-- dogged.record_audit(action, task_id, details): notes who does it, in the caller's transaction.

create or replace function dogged.record_audit(action text, task_id bigint default null, details jsonb default '{}')
returns void language sql volatile security definer begin atomic
  insert into dogged.audit (actor, application, action, task_id, details)
  values (coalesce(nullif(current_setting('dogged.actor', true), ''), session_user),
          coalesce(current_setting('application_name', true), ''), record_audit.action, record_audit.task_id,
          coalesce(record_audit.details, '{}'));
end;
comment on function dogged.record_audit(text, bigint, jsonb) is 'Writes a row of dogged.audit in the caller''s transaction.';
