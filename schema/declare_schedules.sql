-- dogged.declare_schedules(worker_id, declarations): what a worker's program says of its schedules (TASK_SCHEDULE). Of the
-- declarations that live workers make of one schedule, that which was first seen last is in force. So the newer version of a
-- program wins, whichever of its workers starts last. The older version wins again once no worker of the newer is left.
--
-- A declaration is put in force once. So an operator's change stays until another declaration comes into force.

create or replace function dogged.declared_now(name text, out settings jsonb, out first_seen_at timestamptz)
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
begin
  select d.settings, d.first_seen_at into settings, first_seen_at
    from dogged.schedule_declarations d
   where d.name = declared_now.name
     and exists (select from dogged.workers w
                  where w.schedules -> declared_now.name = d.settings and w.stopped_at is null and w.lease_ended_at is null)
   order by d.first_seen_at desc limit 1;
end $$;
comment on function dogged.declared_now(text) is
  'Internal: the declaration of a schedule that is in force: of those that live workers make, the one that was first seen last.';

create or replace function dogged.is_declared(first_name text, second_name text default null) returns boolean
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
begin
  return exists (select from dogged.workers w
                  where w.schedules ?& array_remove(array[first_name, second_name], null) and w.stopped_at is null and w.lease_ended_at is null);
end $$;
comment on function dogged.is_declared(text, text) is 'Internal: whether the program of a live worker declares the schedule, or both of two.';

-- A later declaration need not say any more how the schedule was called formerly.
create or replace function dogged.renamed_at(formerly text, name text) returns timestamptz
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
begin
  return (select max(d.first_seen_at) from dogged.schedule_declarations d
           where d.name = renamed_at.name and d.settings ->> 'formerly' = renamed_at.formerly);
end $$;
comment on function dogged.renamed_at(text, text) is
  'Internal: when a program was first seen that declares the schedule `name` and says that it was formerly called otherwise; null: none was.';

-- After a rollback to a program from before the rename, the schedule gets its former name back. The schedule keeps its
-- ticks.
create or replace function dogged.schedule_to_rename(name text, formerly text) returns bigint
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
begin
  if exists (select from dogged.schedules s where s.name = schedule_to_rename.name) then return null; end if;
  return coalesce((select s.id from dogged.schedules s
                    where s.name = schedule_to_rename.formerly
                      and not dogged.is_declared(s.name, schedule_to_rename.name)),
                  (select s.id from dogged.schedules s
                    where dogged.renamed_at(schedule_to_rename.name, s.name) is not null and not dogged.is_declared(s.name)
                    order by s.declared_at desc limit 1));
end $$;
comment on function dogged.schedule_to_rename(text, text) is
  'Internal: the schedule that gets a name which a program declares; null: the name exists, or is new.';

create or replace function dogged.adopt_declaration(name text, settings jsonb, first_seen_at timestamptz) returns text
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  before dogged.schedules;
  outcome text;
  to_rename constant bigint := dogged.schedule_to_rename(adopt_declaration.name, adopt_declaration.settings ->> 'formerly');
begin
  update dogged.schedules s set name = adopt_declaration.name, changed_at = clock_timestamp() where s.id = to_rename;
  select s.* into before from dogged.schedules s where s.name = adopt_declaration.name for update;
  if before.declared = settings then return 'unchanged'; end if;
  outcome := dogged.put_schedule(name, settings - 'formerly');
  if outcome = 'unchanged' and to_rename is not null then outcome := 'changed'; end if;
  update dogged.schedules s set declared = settings, declared_at = adopt_declaration.first_seen_at where s.name = adopt_declaration.name;
  if outcome <> 'unchanged' then
    perform dogged.record_audit(
      'declare_schedule', null,
      jsonb_build_object('schedule', name, 'outcome', outcome, 'settings', settings,
                         'before', (select jsonb_object_agg(was.key, was.value) from jsonb_each(to_jsonb(before)) was where settings ? was.key)));
  end if;
  return outcome;
end $$;
comment on function dogged.adopt_declaration(text, jsonb, timestamptz) is
  'Internal: gives a schedule the settings that a program declares, unless they were put in force before.';

-- A worker of an older program must not create a schedule again under the name that the schedule had before.
create or replace function dogged.renamed_schedule(formerly text, first_seen_at timestamptz) returns jsonb
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
begin
  return (select s.declared || jsonb_build_object('name', s.name)
            from dogged.schedules s
           where dogged.renamed_at(renamed_schedule.formerly, s.name) > renamed_schedule.first_seen_at
             and dogged.is_declared(s.name) and not dogged.is_declared(s.name, renamed_schedule.formerly)
             and not exists (select from dogged.schedules other where other.name = renamed_schedule.formerly)
           order by s.declared_at desc limit 1);
end $$;
comment on function dogged.renamed_schedule(text, timestamptz) is
  'Internal: the declaration that has renamed a schedule, if it is newer than the time and no schedule of the former name exists.';

create or replace function dogged.declare_schedules(worker_id bigint, declarations jsonb)
returns table (name text, outcome text, in_force jsonb, others bigint)
-- A long wait would cost the worker its lease, because the worker's own row is locked. Its upkeep would rescue nothing meanwhile.
language plpgsql security definer set search_path = pg_catalog, pg_temp set lock_timeout = '500ms' as $$
#variable_conflict use_column
declare
  declaration record;
  newest record;
  renamed jsonb;
begin
  perform from dogged.locks l where l.name = 'schedules' for update;
  update dogged.workers w set schedules = declarations where w.id = declare_schedules.worker_id and w.schedules is distinct from declarations;
  insert into dogged.schedule_declarations (name, settings)
  select d.key, d.value from jsonb_each(declarations) d
   where not exists (select from dogged.schedule_declarations known where known.name = d.key and known.settings = d.value);
  for declaration in select d.key, d.value from jsonb_each(declarations) d order by d.key loop
    newest := dogged.declared_now(declaration.key);
    continue when newest.settings is null;  -- another worker has ended the lease of this one
    renamed := dogged.renamed_schedule(declaration.key, newest.first_seen_at);
    outcome := case when renamed is null then dogged.adopt_declaration(declaration.key, newest.settings, newest.first_seen_at) end;
    name := declaration.key;
    in_force := coalesce(renamed, newest.settings);
    if in_force <> declaration.value then outcome := 'outvoted'; end if;
    in_force := jsonb_set(in_force, '{args}', dogged.redacted(in_force ->> 'task', in_force -> 'args'));
    others := (select count(*) from dogged.workers w
                where w.schedules -> declaration.key <> declaration.value and w.stopped_at is null and w.lease_ended_at is null);
    return next;
  end loop;
end $$;
comment on function dogged.declare_schedules(bigint, jsonb) is
  'Says for a worker which schedules its program declares, as {"nightly": {"spec": "0 3 * * *", …}}, with settings as dogged.set_schedule takes '
  'them, and puts the newest declaration of each in force. outcome: created, changed or unchanged; outvoted: a newer declaration is in force. '
  'in_force: the declaration that counts, with redacted args. others: how many live workers declare the schedule otherwise. Error 55P03: '
  'another transaction has locked a schedule, or other workers are declaring theirs; nothing was declared.';
