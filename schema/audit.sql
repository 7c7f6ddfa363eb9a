-- dogged.record_audit(action, task_id, details) records an action and its actor, in the caller's transaction. Functions
-- that change many tasks at once insert their own rows, with dogged.audit_actor().

create or replace function dogged.audit_actor() returns text
language sql stable return coalesce(nullif(current_setting('dogged.actor', true), ''), session_user);
comment on function dogged.audit_actor() is 'The actor: the session''s setting dogged.actor, else the database''s session_user.';

create or replace function dogged.record_audit(action text, task_id bigint default null, details jsonb default '{}')
returns void language sql volatile security definer begin atomic
  insert into dogged.audit (actor, application, action, task_id, details)
  values (dogged.audit_actor(), coalesce(current_setting('application_name', true), ''), record_audit.action,
          record_audit.task_id, coalesce(record_audit.details, '{}'));
end;
comment on function dogged.record_audit(text, bigint, jsonb) is 'Writes a row of dogged.audit in the caller''s transaction.';

-- A shorter retention deletes tasks for every user. So the trigger records the actor of each change, however the change
-- was made.
create or replace function dogged.audit_settings() returns trigger language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  perform dogged.record_audit(
    'set_settings', null,
    (select jsonb_build_object('settings', jsonb_object_agg(now_set.key, now_set.value), 'before', jsonb_object_agg(was.key, was.value))
       from jsonb_each(to_jsonb(new)) now_set join jsonb_each(to_jsonb(old)) was on was.key = now_set.key
      where was.value is distinct from now_set.value));
  return null;
end $$;
comment on function dogged.audit_settings() is 'Records each change of dogged.settings in the audit.';
create or replace trigger audit_settings after update on dogged.settings
  for each row when (to_jsonb(old) - 'role_prefix' is distinct from to_jsonb(new) - 'role_prefix')  -- set by make_roles
  execute function dogged.audit_settings();
