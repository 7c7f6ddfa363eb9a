-- The rights of each role: dogged.rights defines them, dogged.grant_rights() grants them. `dogged migrate --roles`
-- creates the roles. Every later `dogged migrate` grants again, so that new objects of the schema get their rights.
-- docs/roles.md explains the roles.

create or replace view dogged.rights as
select r.object, r.privileges, r.roles, r.except_columns
  from (values
    -- A table or a view may have several rows. A test fails for an object without a row, so that the author of a new
    -- object decides here which roles may use it. Partitions of days need no rights of their own: they are reached through
    -- their parents.
    ('schema_migrations', 'select', '{producer,worker,viewer,operator}'::text[], '{}'::text[]),
    ('schema_files', 'select', '{producer,worker,viewer,operator}', '{}'),
    ('rights', 'select', '{producer,worker,viewer,operator}', '{}'),
    ('settings', 'select', '{producer,worker,viewer,operator}', '{}'),
    ('settings', 'update', '{operator}', '{only_row,role_prefix,installation,ticks_since}'),
    ('locks', 'select', '{viewer,operator}', '{}'),  -- to see which session holds a lock; taking one needs more rights
    ('queues', 'select', '{worker,viewer,operator}', '{}'),
    ('queue_depths', 'select', '{viewer,operator}', '{}'),
    ('task_definitions', 'select', '{worker,viewer,operator}', '{}'),
    ('task_definitions', 'insert, update', '{worker}', '{}'),
    ('workers', 'select', '{worker,operator}', '{}'),
    ('workers', 'select', '{viewer}', '{schedules}'),
    ('workers', 'insert, update', '{worker}', '{}'),
    ('claims', 'select', '{worker,viewer,operator}', '{}'),
    ('claims', 'insert, delete', '{worker}', '{}'),
    ('circuits', 'select', '{worker,viewer,operator}', '{}'),
    ('circuits', 'insert', '{worker}', '{}'),
    ('circuits', 'update', '{worker,operator}', '{}'),
    ('producer_calls', 'select', '{}', '{}'),  -- reached only through functions
    ('unique_keys', 'select', '{viewer,operator}', '{}'),
    ('schedules', 'select', '{worker,operator}', '{}'),
    ('schedules', 'select', '{viewer}', '{args,declared}'),
    ('schedule_ticks', 'select', '{worker,viewer,operator}', '{}'),
    ('schedule_ticks_default', 'select', '{viewer,operator}', '{}'),
    ('schedule_declarations', 'select', '{worker,operator}', '{}'),
    ('schedule_overview', 'select', '{viewer,operator}', '{}'),

    -- Args and results are only for roles that run or repair tasks. Viewers have redacted_tasks. Operators change tasks
    -- only through functions, which record the change in the audit.
    ('tasks', 'select', '{worker}', '{}'),
    ('tasks', 'select', '{operator}', '{}'),
    ('tasks', 'select', '{viewer}', '{args,result}'),
    ('tasks_live', 'select, delete', '{worker}', '{}'),
    -- No column that the producer set, and not the request to cancel.
    ('tasks_live', 'update', '{worker}', '{id,queue,name,priority,args,enqueued_at,run_at,finished_at,result,trace_context,expires_at,tags,parent_id,args_version,unique_key,cancel_requested_at}'),
    -- Workers insert ended tasks. Only enqueue inserts into tasks_live.
    ('tasks_failed', 'select, insert', '{worker}', '{}'),
    ('tasks_done', 'select, insert', '{worker}', '{}'),
    ('tasks_live', 'select', '{operator}', '{}'),
    ('tasks_live', 'select', '{viewer}', '{args,result}'),
    ('tasks_failed', 'select', '{operator}', '{}'),
    ('tasks_failed', 'select', '{viewer}', '{args,result}'),
    ('tasks_done', 'select', '{operator}', '{}'),
    ('tasks_done', 'select', '{viewer}', '{args,result}'),
    -- Queried by name: these rows have no partition of their day.
    ('tasks_failed_default', 'select', '{operator}', '{}'),
    ('tasks_failed_default', 'select', '{viewer}', '{args,result}'),
    ('tasks_done_default', 'select', '{operator}', '{}'),
    ('tasks_done_default', 'select', '{viewer}', '{args,result}'),
    ('task_attempts_default', 'select', '{viewer,operator}', '{}'),
    ('tasks_id_seq', 'select, usage', '{worker}', '{}'),
    -- Workers insert attempts, and no role changes them.
    ('task_attempts', 'select', '{worker,viewer,operator}', '{}'),
    ('task_attempts', 'insert', '{worker}', '{}'),
    ('task_steps', 'select, insert', '{worker}', '{}'),
    ('task_steps', 'select', '{operator}', '{}'),
    ('task_steps', 'select', '{viewer}', '{result}'),
    ('task_steps_default', 'select', '{operator}', '{}'),
    ('task_steps_default', 'select', '{viewer}', '{result}'),
    ('task_checkpoints', 'select, insert, update', '{worker}', '{}'),
    ('task_checkpoints', 'select', '{operator}', '{}'),
    ('task_checkpoints', 'select', '{viewer}', '{value}'),
    ('task_progress', 'select, insert, update', '{worker}', '{}'),
    ('task_progress', 'select', '{viewer,operator}', '{}'),
    ('task_waits', 'select, insert, update, delete', '{worker}', '{}'),
    ('task_waits', 'select', '{operator}', '{}'),
    ('task_waits', 'select', '{viewer}', '{payload}'),
    ('events', 'select', '{worker}', '{}'),
    ('events', 'select', '{operator}', '{}'),
    ('events', 'select', '{viewer}', '{payload}'),
    ('events_default', 'select', '{operator}', '{}'),
    ('events_default', 'select', '{viewer}', '{payload}'),
    -- details may hold args that an operator has replaced.
    ('audit', 'select', '{operator}', '{}'),
    ('audit', 'select', '{viewer}', '{details}'),

    ('redacted_tasks', 'select', '{viewer,operator}', '{}'),
    ('task_timeline', 'select', '{viewer,operator}', '{}'),
    ('task_overview', 'select', '{viewer,operator}', '{}'),
    ('task_steps_overview', 'select', '{viewer,operator}', '{}'),
    ('waiting', 'select', '{viewer,operator}', '{}'),
    ('dead_letters', 'select', '{viewer,operator}', '{}'),
    ('queue_stats', 'select', '{viewer,operator}', '{}'),
    ('recent_figures', 'execute', '{viewer,operator}', '{}'),
    ('worker_stats', 'select', '{viewer,operator}', '{}'),
    ('error_stats', 'select', '{viewer,operator}', '{}'),
    ('partitions', 'select', '{worker,viewer,operator}', '{}'),

    -- For producers. A function that runs as the owner needs no right on the tables that it uses.
    ('enqueue', 'execute as owner', '{producer,worker}', '{}'),
    ('enqueue_many', 'execute as owner', '{producer,worker}', '{}'),
    ('enqueue_unique', 'execute as owner', '{producer,worker}', '{}'),
    ('enqueue_many_unique', 'execute as owner', '{producer,worker}', '{}'),
    ('prepare_task', 'execute as owner', '{producer,worker}', '{}'),
    ('parent_here', 'execute as owner', '{producer,worker}', '{}'),
    ('refuse_call', 'execute', '{}', '{}'),
    ('note_call', 'execute as owner', '{producer,worker,operator}', '{}'),
    ('reserve_producer', 'execute as owner', '{producer,worker,operator}', '{}'),
    ('call_made', 'execute as owner', '{producer,worker,operator}', '{}'),
    ('answer_made', 'execute as owner', '{producer,worker,operator}', '{}'),
    ('emit', 'execute as owner', '{producer,worker,operator}', '{}'),
    ('event_lock', 'execute', '{worker}', '{}'),

    -- For workers.
    ('create_queue', 'execute as owner', '{worker,operator}', '{}'),
    ('complete_in', 'execute', '{worker}', '{}'),
    ('step_in', 'execute', '{worker}', '{}'),
    ('steps_since', 'execute', '{worker}', '{}'),
    ('wait_durably', 'execute', '{worker}', '{}'),
    ('record_wait', 'execute', '{worker}', '{}'),
    ('suspend', 'execute', '{worker}', '{}'),
    ('knows_task', 'execute', '{worker,viewer,operator}', '{}'),
    ('worker_state', 'execute', '{worker,viewer,operator}', '{}'),
    ('refuse_completion', 'execute', '{worker}', '{}'),
    ('moment_ago', 'execute', '{worker}', '{}'),
    ('place', 'execute', '{worker}', '{}'),
    ('place_in_front', 'execute', '{worker}', '{}'),
    ('make_partitions', 'execute as owner', '{worker,operator}', '{}'),
    ('drop_oldest_day', 'execute as owner', '{worker,operator}', '{}'),
    ('kept_days_to_thin', 'execute as owner', '{worker,operator}', '{}'),
    ('thin_kept_day', 'execute as owner', '{worker,operator}', '{}'),
    ('forget_workers', 'execute as owner', '{worker,operator}', '{}'),
    ('forget_steps', 'execute as owner', '{worker,operator}', '{}'),
    ('forget_calls', 'execute as owner', '{worker,operator}', '{}'),
    ('forget_keys', 'execute as owner', '{worker,operator}', '{}'),
    ('fire_due_ticks', 'execute as owner', '{worker}', '{}'),
    ('declare_schedules', 'execute as owner', '{worker}', '{}'),

    -- For users.
    ('redacted', 'execute', '{viewer,operator}', '{}'),
    ('error_fingerprint', 'execute', '{viewer,operator}', '{}'),
    ('are_sound_tags', 'execute', '{}', '{}'),
    ('mistake_in_tags', 'execute', '{}', '{}'),
    ('tags_of_letter', 'execute', '{}', '{}'),
    ('dead_letter_matches', 'execute', '{viewer,operator}', '{}'),
    ('dead_letter_standing', 'execute', '{viewer,operator}', '{}'),
    ('export_dead_letters', 'execute', '{operator}', '{}'),
    ('import_dead_letters', 'execute as owner', '{operator}', '{}'),
    ('cancel', 'execute as owner', '{worker,operator}', '{}'),  -- workers: released tasks that must not run again
    ('reschedule', 'execute as owner', '{operator}', '{}'),
    ('replay', 'execute as owner', '{operator}', '{}'),
    ('replay_many', 'execute as owner', '{operator}', '{}'),
    ('purge', 'execute as owner', '{operator}', '{}'),
    ('purge_many', 'execute as owner', '{operator}', '{}'),
    ('pause_queue', 'execute as owner', '{operator}', '{}'),
    ('resume_queue', 'execute as owner', '{operator}', '{}'),
    ('set_queue', 'execute as owner', '{operator}', '{}'),
    ('delete_queue', 'execute as owner', '{operator}', '{}'),
    ('rename_queue', 'execute as owner', '{operator}', '{}'),
    ('move_tasks', 'execute as owner', '{operator}', '{}'),
    ('move_queue', 'execute as owner', '{operator}', '{}'),
    ('record_audit', 'execute as owner', '{operator}', '{}'),
    ('schedule', 'execute as owner', '{operator}', '{}'),
    ('create_schedule', 'execute as owner', '{operator}', '{}'),
    ('set_schedule', 'execute as owner', '{operator}', '{}'),
    ('pause_schedule', 'execute as owner', '{operator}', '{}'),
    ('resume_schedule', 'execute as owner', '{operator}', '{}'),
    ('run_schedule', 'execute as owner', '{operator}', '{}'),
    ('backfill_schedule', 'execute as owner', '{operator}', '{}'),
    ('rename_schedule', 'execute as owner', '{operator}', '{}'),
    ('delete_schedule', 'execute as owner', '{operator}', '{}'),
    ('next_ticks', 'execute as owner', '{viewer,operator}', '{}'),
    ('next_ticks_of', 'execute as owner', '{viewer,operator}', '{}'),
    ('passed_over_tick', 'execute as owner', '{viewer,operator}', '{}'),
    ('time_in', 'execute', '{viewer,operator}', '{}'),

    -- Called by triggers, by functions that run as the owner, or only by the owner.
    ('is_sound_task', 'execute', '{}', '{}'),
    ('json_bytes', 'execute', '{}', '{}'),
    ('numbers_exceed', 'execute', '{}', '{}'),
    ('is_one_line', 'execute', '{worker}', '{}'),
    ('task_in_call', 'execute', '{}', '{}'),
    ('refuse_task', 'execute', '{}', '{}'),
    ('queues_to_tell_of', 'execute', '{}', '{}'),
    ('refuse_arrays', 'execute', '{}', '{}'),
    ('end_enqueue_of_old_snapshot', 'execute', '{}', '{}'),
    ('insert_many', 'execute', '{}', '{}'),
    ('require_unique_times', 'execute', '{}', '{}'),
    ('require_number_of_ticks', 'execute', '{}', '{}'),
    ('value_at', 'execute', '{}', '{}'),
    ('value_at_each', 'execute', '{}', '{}'),
    ('hashed_key', 'execute', '{}', '{}'),
    ('refuse_key', 'execute', '{}', '{}'),
    ('refuse_unique_bys', 'execute', '{}', '{}'),
    ('take_key', 'execute', '{}', '{}'),
    ('other_holder', 'execute', '{}', '{}'),
    ('merge_dead_letters', 'execute', '{}', '{}'),
    ('merged_args', 'execute', '{}', '{}'),
    ('change_holder', 'execute', '{}', '{}'),
    ('meet_holder', 'execute', '{}', '{}'),
    ('days_of_open_ticks', 'execute as owner', '{worker,viewer,operator}', '{}'),
    ('renamed_at', 'execute', '{}', '{}'),
    ('end_expired', 'execute', '{worker}', '{}'),
    ('those', 'execute', '{}', '{}'),
    ('for_each', 'execute', '{}', '{}'),
    ('has_room', 'execute as owner', '{}', '{}'),
    ('held_of_queue', 'execute as owner', '{}', '{}'),
    ('require_room', 'execute', '{}', '{}'),
    ('refuse_for_depth', 'execute', '{}', '{}'),
    ('prepare_to_count', 'execute', '{}', '{}'),
    ('tell_of_queues', 'execute', '{}', '{}'),
    ('require_queue_name', 'execute', '{}', '{}'),
    ('nearest_names', 'execute', '{worker,viewer,operator}', '{}'),
    ('nearest_queues', 'execute', '{worker,viewer,operator}', '{}'),
    ('lock_queue', 'execute', '{}', '{}'),
    ('lock_queues', 'execute', '{}', '{}'),
    ('require_queue', 'execute', '{}', '{}'),
    ('require_not_served', 'execute', '{}', '{}'),
    ('require_queue_settings', 'execute', '{}', '{}'),
    ('require_longer_than_all', 'execute', '{}', '{}'),
    ('audit_actor', 'execute', '{}', '{}'),
    ('audit_settings', 'execute', '{}', '{}'),
    ('require_read_committed', 'execute', '{}', '{}'),
    ('refuse_dead_letter', 'execute', '{}', '{}'),
    ('first_of', 'execute', '{}', '{}'),
    ('refuse_spec', 'execute', '{}', '{}'),
    ('compile_spec', 'execute', '{}', '{}'),
    ('next_tick', 'execute', '{}', '{}'),
    ('cron_number', 'execute', '{}', '{}'),
    ('cron_element', 'execute', '{}', '{}'),
    ('cron_field', 'execute', '{}', '{}'),
    ('cron_days', 'execute', '{}', '{}'),
    ('cron_weekdays', 'execute', '{}', '{}'),
    ('compile_every', 'execute', '{}', '{}'),
    ('fits_day', 'execute', '{}', '{}'),
    ('next_time_of_day', 'execute', '{}', '{}'),
    ('next_local_time', 'execute', '{}', '{}'),
    ('offset_at', 'execute', '{}', '{}'),
    ('change_of_offset', 'execute', '{}', '{}'),
    ('first_instant_of', 'execute', '{}', '{}'),
    ('next_fixed_tick', 'execute', '{}', '{}'),
    ('next_elapsed_tick', 'execute', '{}', '{}'),
    ('refuse_schedule', 'execute', '{}', '{}'),
    ('require_schedule_name', 'execute', '{}', '{}'),
    ('lock_schedule', 'execute', '{}', '{}'),
    ('is_time_zone', 'execute', '{}', '{}'),
    ('require_time_zone', 'execute', '{}', '{}'),
    ('shortest_gap', 'execute', '{}', '{}'),
    ('require_sound_spec', 'execute', '{}', '{}'),
    ('require_schedule_settings', 'execute', '{}', '{}'),
    ('fires_at_of', 'execute', '{}', '{}'),
    ('looked_after_at', 'execute', '{}', '{}'),
    ('settle_times_before_change', 'execute', '{}', '{}'),
    ('skip_until', 'execute', '{}', '{}'),
    ('fire_or_put_off', 'execute', '{}', '{}'),
    ('put_schedule', 'execute', '{}', '{}'),
    ('require_enqueueable', 'execute', '{}', '{}'),
    ('store_schedule', 'execute', '{}', '{}'),
    ('first_waiting_tick', 'execute', '{}', '{}'),
    ('note_tick', 'execute', '{}', '{}'),
    ('start_tick', 'execute', '{}', '{}'),
    ('alive_of', 'execute', '{}', '{}'),
    ('cancel_tasks_of', 'execute', '{}', '{}'),
    ('skip_waiting', 'execute', '{}', '{}'),
    ('is_to_cancel_others', 'execute', '{}', '{}'),
    ('start_waiting_tick', 'execute', '{}', '{}'),
    ('is_tick_decided', 'execute', '{}', '{}'),
    ('decide_tick', 'execute', '{}', '{}'),
    ('first_to_fire', 'execute', '{}', '{}'),
    ('fire_schedule', 'execute', '{}', '{}'),
    ('ticks_to_backfill', 'execute', '{}', '{}'),
    ('hand_range_on', 'execute', '{}', '{}'),
    ('tell_of_schedules', 'execute', '{}', '{}'),
    ('moment_of_partitions', 'execute', '{}', '{}'),
    ('require_undeclared', 'execute', '{}', '{}'),
    ('declared_now', 'execute', '{}', '{}'),
    ('adopt_declaration', 'execute', '{}', '{}'),
    ('is_declared', 'execute', '{}', '{}'),
    ('schedule_to_rename', 'execute', '{}', '{}'),
    ('renamed_schedule', 'execute', '{}', '{}'),
    ('make_partition', 'execute', '{}', '{}'),
    ('days_to_make', 'execute', '{}', '{}'),
    ('make_kept_history', 'execute', '{}', '{}'),
    ('make_kept_tasks', 'execute', '{}', '{}'),
    ('queues_keeping', 'execute', '{}', '{}'),
    ('keep_rows_of_day', 'execute', '{}', '{}'),
    ('replace_day', 'execute', '{}', '{}'),
    ('refuse_bad_retention', 'execute', '{}', '{}'),
    ('refuse_change_of_history', 'execute', '{}', '{}'),
    ('refuse_change_of_audit', 'execute', '{}', '{}'),
    ('refuse_to_forget_worker', 'execute', '{}', '{}'),
    ('role_names', 'execute', '{}', '{}'),
    ('make_roles', 'execute', '{}', '{}'),
    ('revoke_rights', 'execute', '{}', '{}'),
    ('grant_rights', 'execute', '{}', '{}')
  ) as r (object, privileges, roles, except_columns);
comment on view dogged.rights is
  'The roles that may use each table, view, sequence or function. `dogged migrate` grants these rights if `dogged migrate --roles` '
  'has made the roles.';
comment on column dogged.rights.object is
  'The name of a table, view, sequence or function. The name of a function means all functions of that name.';
comment on column dogged.rights.privileges is
  'As GRANT names them. execute as owner: the function runs with the rights of the schema''s owner (security definer).';
comment on column dogged.rights.roles is 'producer, worker, viewer, operator; the role''s name is settings.role_prefix, _ and this. Empty: the owner alone.';
comment on column dogged.rights.except_columns is 'The privileges are for all other columns of the table; empty: for the whole table.';

create or replace function dogged.role_names(prefix text) returns text[]
language sql immutable return
  array[prefix || '_producer', prefix || '_worker', prefix || '_viewer', prefix || '_operator'];
comment on function dogged.role_names(text) is 'The roles that dogged.make_roles(prefix) makes.';

create or replace function dogged.make_roles(prefix text default null) returns text[]
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  former constant text := (select s.role_prefix from dogged.settings s);
  chosen constant text := coalesce(make_roles.prefix, former, rtrim('dogged.', '.'));
  role_name text;
begin
  if chosen !~ '^[a-z_][a-z0-9_]{0,53}$' or starts_with(chosen, 'pg_') then
    raise exception 'the prefix of role names "%" is not 1 to 54 of a-z 0-9 _ beginning with a letter or _ (and not with pg_)',
      left(chosen, 64) using errcode = 'invalid_parameter_value';
  end if;
  foreach role_name in array dogged.role_names(chosen) loop
    begin
      if to_regrole(role_name) is null then
        execute format('create role %I nologin', role_name);
      end if;
    exception
      when duplicate_object or unique_violation then
        null;  -- created at the same time for another schema
      when insufficient_privilege then
        raise exception 'the role "%" is missing, and "%" may not create roles', role_name, current_user
          using errcode = 'insufficient_privilege',
                hint = format('Let an administrator run: %s. Then run `dogged migrate --roles` again.',
                              (select string_agg(format('create role %I nologin', r.name), '; ')
                                 from unnest(dogged.role_names(chosen)) as r (name)
                                where to_regrole(r.name) is null));
    end;
  end loop;
  if former <> chosen then
    perform dogged.revoke_rights(former);
  end if;
  update dogged.settings set role_prefix = chosen where role_prefix is distinct from chosen;
  perform dogged.grant_rights();
  return dogged.role_names(chosen);
end $$;
comment on function dogged.make_roles(text) is
  'Creates the missing roles of producers, workers, viewers and operators, grants all of them their rights, and returns their '
  'names. prefix: the beginning of the names; the former prefix, or the name of the schema. If the prefix changes, the former '
  'roles lose their rights here.';

create or replace function dogged.revoke_rights(prefix text) returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  namespace constant oid := to_regnamespace(rtrim('dogged.', '.'));
  role_name text;
  object text;
begin
  foreach role_name in array dogged.role_names(revoke_rights.prefix) loop
    continue when to_regrole(role_name) is null;
    execute format('revoke all on schema %I from %I', rtrim('dogged.', '.'), role_name);
    -- REVOKE on a table also revokes the rights on its columns.
    for object in
      select case c.relkind when 'S' then 'sequence ' else 'table ' end || c.oid::regclass
        from pg_class c
       where c.relnamespace = namespace
         and exists (select from pg_shdepend d
                      where d.dbid = (select oid from pg_database where datname = current_database())
                        and d.classid = 'pg_class'::regclass and d.objid = c.oid
                        and d.refclassid = 'pg_authid'::regclass and d.refobjid = to_regrole(role_name) and d.deptype = 'a')
      union all
      select 'function ' || p.oid::regprocedure
        from pg_proc p
       where p.pronamespace = namespace
         and exists (select from aclexplode(p.proacl) a where a.grantee = to_regrole(role_name))
    loop
      execute format('revoke all on %s from %I', object, role_name);
    end loop;
  end loop;
end $$;
comment on function dogged.revoke_rights(text) is 'Takes every right in this schema from the roles that make_roles(prefix) made.';

create or replace function dogged.grant_rights() returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  schema_name constant text := rtrim('dogged.', '.');
  namespace constant oid := to_regnamespace(schema_name);
  prefix constant text := (select s.role_prefix from dogged.settings s);
  grantees text;
  command text;
begin
  -- PostgreSQL lets every role call a new function.
  for command in
    select format('revoke execute on function %s from public', p.oid::regprocedure)
      from pg_proc p
     where p.pronamespace = namespace
       and exists (select from aclexplode(coalesce(p.proacl, acldefault('f', p.proowner))) a where a.grantee = 0)
  loop
    execute command;
  end loop;

  if prefix is null then
    return;
  end if;
  perform dogged.revoke_rights(prefix);
  select string_agg(quote_ident(r.name), ', ') into grantees
    from unnest(dogged.role_names(prefix)) as r (name) where to_regrole(r.name) is not null;
  if grantees is null then
    return;  -- the roles were dropped
  end if;
  execute format('grant usage on schema %I to %s', schema_name, grantees);
  for command in
    select format('grant %s on %s to %s', granted.privileges, granted.object, granted.grantees)
      from (
        select case when r.except_columns = '{}' then r.privileges
                    else r.privileges || ' (' ||
                         (select string_agg(quote_ident(a.attname), ', ' order by a.attnum)
                            from pg_attribute a
                           where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
                             and a.attname <> all (r.except_columns)) || ')' end as privileges,
               case c.relkind when 'S' then 'sequence ' else 'table ' end || c.oid::regclass as object,
               (select string_agg(quote_ident(prefix || '_' || wanted.role), ', ')
                  from unnest(r.roles) as wanted (role)
                 where to_regrole(prefix || '_' || wanted.role) is not null) as grantees
          from dogged.rights r
          join pg_class c on c.relname = r.object and c.relnamespace = namespace
         where r.privileges not like 'execute%'
        union all
        select 'execute', 'function ' || p.oid::regprocedure,
               (select string_agg(quote_ident(prefix || '_' || wanted.role), ', ')
                  from unnest(r.roles) as wanted (role)
                 where to_regrole(prefix || '_' || wanted.role) is not null)
          from dogged.rights r
          join pg_proc p on p.proname = r.object and p.pronamespace = namespace
         where r.privileges like 'execute%') as granted
     where granted.grantees is not null and granted.privileges is not null  -- null: no other column exists
  loop
    execute command;
  end loop;
end $$;
comment on function dogged.grant_rights() is
  'Grants the rights of dogged.rights to the roles that dogged.make_roles() has made, and revokes all other rights of these roles '
  'in this schema. Apart from them, only the owner may call functions of this schema. `dogged migrate` calls this function each '
  'time.';
