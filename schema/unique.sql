-- dogged.enqueue_unique(…) and dogged.enqueue_many_unique(…) enqueue a task unless another task holds its unique key.
-- docs/unique.md explains them; docs/decisions/0020 gives the reasons.
--
-- A row of unique_keys names the last task of a key. Whether that task still holds the key, the next enqueue finds out
-- from the task itself.

create or replace function dogged.require_unique_times(name text, unique_period interval, latest interval,
                                                       on_conflict dogged.unique_conflict, number integer default null)
returns void language plpgsql immutable set search_path = pg_catalog, pg_temp as $$
declare
  longest constant interval := '10 years';
  what constant text := dogged.task_in_call(name, number);
begin
  if latest is not null and coalesce(on_conflict, 'keep') not in ('reschedule', 'debounce', 'debounce_merge') then
    raise exception '%: latest is %, and on_conflict is %, which moves no run', what, latest, coalesce(on_conflict, 'keep')
      using hint = 'Leave latest out, or give on_conflict => ''reschedule'', ''debounce'' or ''debounce_merge''. Nothing was enqueued.',
            errcode = 'invalid_parameter_value';
  end if;
  if unique_period <= interval '0' or latest <= interval '0' then
    raise exception '%: % is %, and must be more than 0', what, case when unique_period <= interval '0' then 'unique_period' else 'latest' end,
      case when unique_period <= interval '0' then unique_period else latest end
      using hint = 'Leave it out for no limit. Nothing was enqueued.', errcode = 'invalid_parameter_value';
  elsif unique_period > longest or latest > longest then
    raise exception '%: % is %; the limit is %', what, case when unique_period > longest then 'unique_period' else 'latest' end,
      case when unique_period > longest then unique_period else latest end, longest
      using hint = 'Leave it out for no limit. Nothing was enqueued.', errcode = 'invalid_parameter_value';
  end if;
end $$;
comment on function dogged.require_unique_times(text, interval, interval, dogged.unique_conflict, integer) is
  'Internal: raises an error for a unique_period or a latest that is not more than 0, or more than 10 years, and for a latest without a conflict '
  'that it bounds.';

-- For what #> would read in another way: it takes -1, 01 and +1 for indices of an array.
create or replace function dogged.value_at_each(document jsonb, tokens text[]) returns jsonb
language plpgsql immutable parallel safe set search_path = pg_catalog, pg_temp as $$
declare
  token text;
begin
  foreach token in array tokens loop
    if jsonb_typeof(document) = 'array' and token !~ '^(0|[1-9][0-9]*)$' then return null; end if;
    document := document #> array[replace(replace(token, '~1', '/'), '~0', '~')];  -- RFC 6901, in this order
  end loop;
  return document;
end $$;
comment on function dogged.value_at_each(jsonb, text[]) is
  'Internal: the value that the tokens of a JSON pointer name, one after the other; null: there is none.';

-- SQL-standard form, as is_sound_task: bound when created, so that no search_path can change it, and inlined.
create or replace function dogged.value_at(document jsonb, pointer text) returns jsonb
language sql immutable parallel safe return
  case when pointer = '' then document
       when pointer = '/' then document -> ''
       when left(pointer, 1) <> '/' then null
       when pointer ~ '~|/(0[0-9]|[-+[:space:]])' then dogged.value_at_each(document, string_to_array(substr(pointer, 2), '/'))
       else document #> string_to_array(substr(pointer, 2), '/') end;
comment on function dogged.value_at(jsonb, text) is
  'Internal: the value that a JSON pointer (RFC 6901) names; null: there is none, or the pointer is not valid.';

-- In PL/pgSQL, with qualified names: an SQL function with a subquery took 100 us a task, and SET search_path another 4.
create or replace function dogged.hashed_key(args jsonb, unique_by text[]) returns text
language plpgsql immutable strict parallel safe as $$
declare
  pointer pg_catalog.text;
  part pg_catalog.jsonb;
  parts pg_catalog.jsonb := '[]';
begin
  -- The key is that of a set of pointers: their order, and a second mention, are no difference.
  if pg_catalog.cardinality(unique_by) operator(pg_catalog.>) 1 then
    unique_by := array(select distinct by.pointer collate pg_catalog."C" from pg_catalog.unnest(unique_by) as by (pointer) order by 1);
  end if;
  foreach pointer in array unique_by loop
    part := dogged.value_at(args, pointer);
    if part is null or pointer is null then return null; end if;
    parts := parts operator(pg_catalog.||) pg_catalog.jsonb_build_array(pointer, part);
  end loop;
  return pg_catalog.encode(pg_catalog.sha256(pg_catalog.convert_to(parts::pg_catalog.text, 'UTF8')), 'hex');
end $$;
comment on function dogged.hashed_key(jsonb, text[]) is
  'Internal: the SHA-256 of the values that the JSON pointers name, in whatever order; null: the args have no value at one of them.';

create or replace function dogged.refuse_key(name text, args jsonb, unique_key text, unique_by text[], number integer default null)
returns void
language plpgsql immutable set search_path = pg_catalog, pg_temp as $$
declare
  mistake text;
  remedy text := 'Nothing was enqueued.';
  missing text;
begin
  select by.pointer into missing from unnest(refuse_key.unique_by) as by (pointer)
   where dogged.value_at(refuse_key.args, by.pointer) is null limit 1;
  if refuse_key.unique_key is not null and refuse_key.unique_by is not null then
    mistake := 'give either unique_key or unique_by, not both';
  elsif refuse_key.unique_key = '' then
    mistake := 'its unique_key is empty';
  elsif octet_length(refuse_key.unique_key) > 512 then
    mistake := format('its unique_key has %s bytes; the limit is 512', octet_length(refuse_key.unique_key));
  elsif array_ndims(refuse_key.unique_by) > 1 then
    mistake := format('its unique_by %s is an array of arrays', left(refuse_key.unique_by::text, 256));
  elsif array_position(refuse_key.unique_by, null) is not null then
    mistake := 'one of its unique_by is null';
  elsif cardinality(refuse_key.unique_by) > 16 then
    mistake := format('its unique_by has %s JSON pointers; the limit is 16', cardinality(refuse_key.unique_by));
  elsif found then
    mistake := format('it is to be unique by "%s", and its args have no value there', left(missing, 256));
    remedy := 'A JSON pointer begins with a slash, as /customer/id; '''' is the whole of the args. ' || remedy;
  else
    return;
  end if;
  raise exception '%: %', dogged.task_in_call(refuse_key.name, number), mistake using hint = remedy, errcode = 'invalid_parameter_value';
end $$;
comment on function dogged.refuse_key(text, jsonb, text, text[], integer) is
  'Internal: raises the error for a bad unique_key or unique_by, if there is a mistake.';

-- One by one, because PostgreSQL's error for a text that is no array does not say which of many it was.
create or replace function dogged.refuse_unique_bys(names text[], unique_bys text[]) returns void
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
begin
  for number in 1 .. cardinality(unique_bys) loop
    begin
      perform unique_bys[number]::text[];
    exception when invalid_text_representation then
      raise exception '%: its element of unique_bys is "%", which is not the text of an array',
        dogged.task_in_call(names[number], number), left(unique_bys[number], 256)
        using hint = 'Give each task the text of an array of JSON pointers, as ''{/customer/id}''. Nothing was enqueued.',
              errcode = 'invalid_parameter_value';
    end;
  end loop;
end $$;
comment on function dogged.refuse_unique_bys(text[], text[]) is
  'Internal: raises the error for the first of unique_bys that is not the text of an array, if there is one.';

create or replace function dogged.merged_args(old jsonb, new jsonb) returns jsonb
language sql immutable parallel safe return
  case when jsonb_typeof(old) = jsonb_typeof(new) and jsonb_typeof(old) in ('object', 'array') then old || new else new end;
comment on function dogged.merged_args(jsonb, jsonb) is
  'Internal: two objects as one, of whose common members the new ones count; two arrays one after the other; else the new value.';

-- A task that waits for a retry, or for its circuit, keeps the end of the wait and its expires_at. A call must not
-- shorten the wait, nor fail because of the wait.
create or replace function dogged.change_holder(
  task dogged.tasks_live, args jsonb, on_conflict dogged.unique_conflict, latest interval, run_at timestamptz,
  expires_at timestamptz, args_version integer, number integer) returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  max_args_bytes constant integer := (select s.max_args_bytes from dogged.settings s);
  awaits_first_run constant boolean := task.attempt = 0 and task.next_retry_at is null;
  moves constant boolean := awaits_first_run and on_conflict in ('reschedule', 'debounce', 'debounce_merge');
  expiry constant timestamptz := case when awaits_first_run then coalesce(change_holder.expires_at, task.expires_at) else task.expires_at end;
  due constant timestamptz :=
    case when moves then greatest(least(coalesce(change_holder.run_at, now()), task.enqueued_at + latest), now()) else task.run_at end;
  waits constant boolean := due > now();
  what constant text := dogged.task_in_call(task.name, number);
  changed constant jsonb := case when on_conflict in ('replace_args', 'debounce') then change_holder.args
                                 when on_conflict in ('merge_args', 'debounce_merge') then dogged.merged_args(task.args, change_holder.args)
                                 else task.args end;
begin
  if not dogged.is_sound_task(task.name, change_holder.run_at, null, null, change_holder.expires_at, null, null,
                              change_holder.args_version) then
    perform dogged.refuse_task(task.name, change_holder.args, task.queue, change_holder.run_at, null, null,
                               change_holder.expires_at, null, null, change_holder.args_version, number);
  end if;
  if (dogged.json_bytes(changed, max_args_bytes) <= max_args_bytes) is not true then
    raise exception '%: with the args of task % its args have % bytes as JSON; the limit is %', what, task.id,
      coalesce(dogged.json_bytes(changed, max_args_bytes)::text, 'many more'), max_args_bytes
      using hint = 'Nothing was changed. Enqueue it under another unique key, or raise dogged.settings.max_args_bytes.',
            errcode = 'invalid_parameter_value';
  end if;
  if awaits_first_run and due >= expiry then
    raise exception '%: the run_at % of task %, which holds its key, would not be before its expires_at %', what, due,
      task.id, expiry
      using hint = 'Give a later expires_at. Nothing was changed.', errcode = 'invalid_parameter_value';
  end if;
  update dogged.tasks_live t
     set args = changed,
         args_version = case when on_conflict = 'reschedule' then t.args_version else nullif(change_holder.args_version, 1) end,
         run_at = due,
         expires_at = expiry,
         deferred = case when moves then waits else t.deferred end,
         -- A task that becomes ready takes a new place, as in dogged.reschedule. A task whose args get another version takes one
         -- too: workers that know only the new version have passed the old place.
         ready_position = case when (moves and t.deferred and not waits)
                                    or (on_conflict <> 'reschedule' and t.args_version is distinct from nullif(change_holder.args_version, 1))
                               then nextval('dogged.tasks_id_seq') else t.ready_position end
   where t.id = task.id;
  -- A sleeping worker knows only the earliest due time as of when it fell asleep.
  if moves and due < task.run_at
     and (current_setting('transaction_isolation') <> 'read committed'
          or exists (select from dogged.workers w where w.asleep and w.queues ? task.queue)) then
    perform pg_notify('dogged.wake', task.queue);
  end if;
end $$;
comment on function dogged.change_holder(dogged.tasks_live, jsonb, dogged.unique_conflict, interval, timestamptz, timestamptz, integer, integer) is
  'Internal: changes the args, the first run and the expiry of a pending task that holds a unique key, as on_conflict says.';

-- Called where a task would stand for work that the task never does. An expired holder of a unique key never begins,
-- and upkeep ends the holder up to a heartbeat later. The delete waits for a claim that is under way, and leaves the
-- claimed task.
create or replace function dogged.end_expired(ids bigint[]) returns table (id bigint, name text, queue text)
language sql volatile set search_path = pg_catalog, pg_temp as $$
  with removed as (
    delete from dogged.tasks_live t
     where t.id = any (end_expired.ids) and t.status = 'pending' and t.expires_at <= clock_timestamp()
    returning t.*
  )
  insert into dogged.tasks_done (id, status, queue, name, priority, args, enqueued_at, run_at, attempt, retry_count, losses,
                                 worker_id, claimed_at, finished_at, error_code, error_message, trace_context,
                                 cancel_requested_at, expires_at, tags, parent_id, args_version, snoozes, unique_key)
  select r.id, 'expired', r.queue, r.name, r.priority, r.args, r.enqueued_at, r.run_at, r.attempt, r.retry_count, r.losses,
         r.worker_id, r.claimed_at, clock_timestamp(), r.error_code, r.error_message, r.trace_context,
         r.cancel_requested_at, r.expires_at, r.tags, r.parent_id, r.args_version, r.snoozes, r.unique_key
    from removed r
  returning id, name, queue
$$;
comment on function dogged.end_expired(bigint[]) is
  'Internal: ends those of these tasks as expired that are pending after their expires_at, and returns them.';

-- Locks the holder if its state must not change before the caller's transaction ends. With pending, its attempt then
-- begins after this transaction, and sees what the transaction has written.
create or replace function dogged.meet_holder(
  holder bigint, taken_at timestamptz, unique_while dogged.unique_while, on_conflict dogged.unique_conflict,
  unique_period interval, name text, unique_key text, args jsonb, latest interval, run_at timestamptz, expires_at timestamptz,
  args_version integer, number integer) returns text
language plpgsql set search_path = pg_catalog, pg_temp as $$
#variable_conflict use_column
declare
  changes constant boolean := meet_holder.on_conflict not in ('keep', 'refuse');
  locks constant boolean := changes or meet_holder.unique_while = 'pending';
  task dogged.tasks_live;
  holds boolean;
begin
  if now() >= meet_holder.taken_at + meet_holder.unique_period then return null; end if;
  loop
    select t.* into task from dogged.tasks_live t where t.id = meet_holder.holder;
    exit when task.status is distinct from 'pending';
    if task.expires_at <= clock_timestamp() then
      perform dogged.end_expired(array[meet_holder.holder]);
      continue;
    end if;
    exit when not locks;
    -- Only a pending task is locked: the report of a running one would wait for the lock.
    if changes then
      select t.* into task from dogged.tasks_live t
       where t.id = meet_holder.holder and t.status = 'pending' and (t.expires_at <= clock_timestamp()) is not true for update;
    else
      select t.* into task from dogged.tasks_live t
       where t.id = meet_holder.holder and t.status = 'pending' and (t.expires_at <= clock_timestamp()) is not true for share;
    end if;
    if found then
      -- A worker that looks meanwhile passes over the locked task, and may fall asleep until its next poll.
      if not task.deferred then perform pg_notify('dogged.wake', task.queue); end if;
      exit;
    end if;
    -- Its state has changed while this transaction waited for the lock.
  end loop;
  holds := case meet_holder.unique_while
             when 'pending' then task.status = 'pending'
             when 'live' then task.id is not null
             else task.id is not null or meet_holder.unique_period is not null
                  or exists (select from dogged.tasks t where t.id = meet_holder.holder) end;
  if holds is not true then return null; end if;
  if meet_holder.on_conflict = 'refuse' then
    raise exception '% is unique, and task % holds its key "%"',
      dogged.task_in_call(meet_holder.name, number) || case when number is not null then ',' else '' end, meet_holder.holder, meet_holder.unique_key
      using hint = 'Nothing was enqueued. With on_conflict keep, the call gives the id of that task.', errcode = 'UN001';
  end if;
  if not changes or task.status is distinct from 'pending' then return 'existed'; end if;
  perform dogged.change_holder(task, meet_holder.args, meet_holder.on_conflict, meet_holder.latest,
                               meet_holder.run_at, meet_holder.expires_at, meet_holder.args_version, number);
  return 'updated';
end $$;
comment on function dogged.meet_holder(bigint, timestamptz, dogged.unique_while, dogged.unique_conflict, interval, text, text, jsonb,
                                       interval, timestamptz, timestamptz, integer, integer) is
  'Internal: decides an enqueue of a unique key that the task `holder` took last: existed, updated, or null: the key is free.';

create or replace function dogged.those(list anyarray, positions integer[]) returns anyarray
language sql immutable parallel safe as $$
  select case when cardinality(list) > 1 and cardinality(positions) < cardinality(list)
              then array(select list[p.position] from unnest(positions) with ordinality as p (position, place) order by p.place)
              else list end
$$;
comment on function dogged.those(anyarray, integer[]) is
  'Internal: the elements at these positions; the array itself if it has one element for all tasks, or none.';

create or replace function dogged.for_each(list anyarray, tasks integer) returns anyarray
language sql immutable parallel safe as $$
  select case when cardinality(list) = 1 then array_fill(list[1], array[tasks]) else list end
$$;
comment on function dogged.for_each(anyarray, integer) is 'Internal: an array with an element for each of the tasks.';

-- Runs before the task is inserted. An enqueue that finds the key free inserts its row, or waits at the primary key for
-- another enqueue to commit, and then looks again. Names are qualified, because the function is called without a search_path.
create or replace function dogged.take_key(
  name text, unique_key text, new_id bigint, unique_while dogged.unique_while, on_conflict dogged.unique_conflict,
  unique_period interval, latest interval, args jsonb, run_at timestamptz, expires_at timestamptz, args_version integer,
  number integer default null, out holder bigint, out outcome text)
language plpgsql as $$
#variable_conflict use_column
declare
  held pg_catalog.record;
begin
  loop
    select k.task_id, k.taken_at into held from dogged.unique_keys k
     where k.name operator(pg_catalog.=) take_key.name collate pg_catalog."C"
       and k.unique_key operator(pg_catalog.=) take_key.unique_key collate pg_catalog."C";
    if found then
      outcome := dogged.meet_holder(held.task_id, held.taken_at, take_key.unique_while, take_key.on_conflict, take_key.unique_period,
                                    take_key.name, take_key.unique_key, take_key.args, take_key.latest, take_key.run_at,
                                    take_key.expires_at, take_key.args_version, number);
      holder := held.task_id;
      exit when outcome is not null or new_id is null;
      update dogged.unique_keys k
         set task_id = take_key.new_id, taken_at = pg_catalog.now(), held_while = take_key.unique_while,
             held_until = pg_catalog.now() operator(pg_catalog.+) take_key.unique_period
       where k.name operator(pg_catalog.=) take_key.name collate pg_catalog."C"
         and k.unique_key operator(pg_catalog.=) take_key.unique_key collate pg_catalog."C"
         -- A replay meanwhile lets the same task take its key again, as in forget_keys.
         and k.task_id operator(pg_catalog.=) held.task_id and k.taken_at operator(pg_catalog.=) held.taken_at;
    elsif new_id is null then
      exit;
    else
      insert into dogged.unique_keys (name, unique_key, task_id, held_while, held_until)
      values (take_key.name, take_key.unique_key, take_key.new_id, take_key.unique_while,
              pg_catalog.now() operator(pg_catalog.+) take_key.unique_period)
          on conflict do nothing;
    end if;
    if found then
      holder := new_id;
      outcome := 'enqueued';
      exit;
    end if;
  end loop;
end $$;
comment on function dogged.take_key(text, text, bigint, dogged.unique_while, dogged.unique_conflict, interval, interval, jsonb,
                                    timestamptz, timestamptz, integer, integer) is
  'Internal: takes a unique key for the task new_id (outcome enqueued), or meets the task that holds the key (existed, updated). '
  'new_id null: only meets the holder; outcome null: nobody holds the key. number: of the task in its call, for errors.';

-- Does for one task what enqueue_many_unique does. The insert is that of dogged.enqueue, with the id and the key.
create or replace function dogged.enqueue_unique(
  name text, args jsonb default '{}', unique_key text default null, unique_by text[] default null,
  unique_while dogged.unique_while default 'live', on_conflict dogged.unique_conflict default 'keep',
  unique_period interval default null, latest interval default null, queue text default null, run_at timestamptz default null,
  priority integer default 0, trace_context text default null, expires_at timestamptz default null, tags text[] default null,
  parent_id bigint default null, args_version integer default null, out id bigint, out outcome text)
language plpgsql security definer set plan_cache_mode = force_generic_plan as $$
#variable_conflict use_column
declare
  own_transaction constant pg_catalog.xid8 := pg_catalog.pg_current_xact_id();  -- before an id is taken, as in insert_many
  new_id constant pg_catalog.int8 := pg_catalog.nextval('dogged.tasks_id_seq');
  key constant pg_catalog.text :=
    coalesce(enqueue_unique.unique_key, dogged.hashed_key(enqueue_unique.args, coalesce(enqueue_unique.unique_by, '{""}')));
  while_used constant dogged.unique_while := coalesce(enqueue_unique.unique_while, 'live');
  conflict_used constant dogged.unique_conflict := coalesce(enqueue_unique.on_conflict, 'keep');
  queue_used pg_catalog.text;
begin
  if enqueue_unique.name is null or enqueue_unique.args is null or pg_catalog.octet_length(enqueue_unique.name) operator(pg_catalog.>) 128 then
    perform dogged.refuse_task(enqueue_unique.name, enqueue_unique.args, 'default', null, 0, null, null, null, null, null);
  end if;
  if key is null or pg_catalog.cardinality(enqueue_unique.unique_by) operator(pg_catalog.>) 16
     or pg_catalog.octet_length(enqueue_unique.unique_key) operator(pg_catalog.=) 0
     or pg_catalog.octet_length(enqueue_unique.unique_key) operator(pg_catalog.>) 512
     or (enqueue_unique.unique_key is not null and enqueue_unique.unique_by is not null) then
    perform dogged.refuse_key(enqueue_unique.name, enqueue_unique.args, enqueue_unique.unique_key, enqueue_unique.unique_by);
  end if;
  if enqueue_unique.unique_period is not null or enqueue_unique.latest is not null then
    perform dogged.require_unique_times(enqueue_unique.name, enqueue_unique.unique_period, enqueue_unique.latest, conflict_used);
  end if;
  -- Mostly the key is new. Then take_key, another function to enter, is not needed.
  insert into dogged.unique_keys (name, unique_key, task_id, held_while, held_until)
  values (enqueue_unique.name, key, new_id, while_used,
          pg_catalog.now() operator(pg_catalog.+) enqueue_unique.unique_period)
      on conflict do nothing;
  if found then
    id := new_id;
    outcome := 'enqueued';
  else
    select k.holder, k.outcome into id, outcome
      from dogged.take_key(enqueue_unique.name, key, new_id, while_used, conflict_used,
                           enqueue_unique.unique_period, enqueue_unique.latest, enqueue_unique.args, enqueue_unique.run_at,
                           enqueue_unique.expires_at, enqueue_unique.args_version) k;
    if outcome operator(pg_catalog.<>) 'enqueued' then return; end if;
  end if;

  insert into dogged.tasks_live (id, queue, name, args, run_at, deferred, priority, trace_context, expires_at, tags, parent_id,
                                 args_version, unique_key)
  select new_id, q.name, enqueue_unique.name, enqueue_unique.args, coalesce(enqueue_unique.run_at, pg_catalog.now()),
         coalesce(enqueue_unique.run_at operator(pg_catalog.>) pg_catalog.now(), false), coalesce(enqueue_unique.priority, 0),
         enqueue_unique.trace_context, enqueue_unique.expires_at,
         case when pg_catalog.cardinality(enqueue_unique.tags) operator(pg_catalog.>) 0 then enqueue_unique.tags end,
         enqueue_unique.parent_id,
         case when enqueue_unique.args_version operator(pg_catalog.<>) 1 then enqueue_unique.args_version end, key
    from dogged.queues q
   where q.name operator(pg_catalog.=) coalesce(enqueue_unique.queue, (select d.queue from dogged.task_definitions d
                                                                        where d.name operator(pg_catalog.=) enqueue_unique.name),
                                                'default')
     and dogged.is_sound_task(enqueue_unique.name, enqueue_unique.run_at, enqueue_unique.priority, enqueue_unique.trace_context,
                              enqueue_unique.expires_at, enqueue_unique.tags, enqueue_unique.parent_id, enqueue_unique.args_version)
     and (select dogged.json_bytes(enqueue_unique.args, s.max_args_bytes) operator(pg_catalog.<=) s.max_args_bytes
            from dogged.settings s)
     and (q.max_depth is null or dogged.has_room(q.name, q.max_depth, 1))
  returning queue into queue_used;

  if queue_used is null then
    perform dogged.refuse_task(
      enqueue_unique.name, enqueue_unique.args,
      coalesce(enqueue_unique.queue, (select d.queue from dogged.task_definitions d
                                       where d.name operator(pg_catalog.=) enqueue_unique.name), 'default'),
      enqueue_unique.run_at, coalesce(enqueue_unique.priority, 0), enqueue_unique.trace_context, enqueue_unique.expires_at,
      enqueue_unique.tags, enqueue_unique.parent_id, enqueue_unique.args_version);
  end if;
  if pg_catalog.current_setting('transaction_isolation') operator(pg_catalog.<>) 'read committed' then
    perform dogged.end_enqueue_of_old_snapshot(array[queue_used]);
  elsif exists (select from dogged.workers w where w.asleep and w.queues operator(pg_catalog.?) queue_used) then
    perform pg_catalog.pg_notify('dogged.wake', queue_used);  -- as in insert_many
  end if;
end $$;
comment on function dogged.enqueue_unique(text, jsonb, text, text[], dogged.unique_while, dogged.unique_conflict, interval, interval, text,
                                          timestamptz, integer, text, timestamptz, text[], bigint, integer) is
  'Enqueues one task in the caller''s transaction, unless another task of that name holds its unique key. Returns the id of the new '
  'task with outcome enqueued; or the id of the holder, with existed or, if the call has changed it, updated. unique_key: up to 512 '
  'bytes. unique_by: JSON pointers to the args that the key covers; without a unique_key all args; ''{}'': the name alone. '
  'unique_while: how long a task holds the key: pending, live, kept. on_conflict: what happens to the holder. unique_period: the '
  'key is free after this time, whatever the state of the holder. latest: reschedule, debounce and debounce_merge move the first '
  'run no further than this after the holder was enqueued; refused with another on_conflict. Error UN001: on_conflict is refuse, and a task holds the key. The other parameters are those '
  'of dogged.enqueue.';

create or replace function dogged.enqueue_many_unique(
  names text[], args jsonb[], unique_keys text[] default null, unique_bys text[] default null,
  unique_whiles dogged.unique_while[] default null, on_conflicts dogged.unique_conflict[] default null,
  unique_periods interval[] default null, latests interval[] default null, queues text[] default null,
  run_ats timestamptz[] default null, priorities integer[] default null, trace_contexts text[] default null,
  expires_ats timestamptz[] default null, tags text[] default null, parent_ids bigint[] default null,
  args_versions integer[] default null)
returns table (id bigint, outcome text)
language plpgsql security definer set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan set enable_nestloop = off set array_nulls = on as $$
#variable_conflict use_column
declare
  own_transaction constant xid8 := pg_current_xact_id();  -- before an id is taken, as in insert_many
  tasks constant integer := cardinality(enqueue_many_unique.args);
  name_of text[];
  key_of text[];
  ids bigint[];
  outcomes text[];
  firsts integer[];  -- positions: of undecided tasks with the same key the first
  drawn bigint[];    -- an id for each of them
  took bigint[];
  named integer[];   -- positions: of tasks that get the id of their holder, and leave the holder as it is
  holders bigint[];
  fresh integer[];   -- those of firsts that are to be inserted, as places in firsts
  untaken integer[];  -- positions: of tasks that are to meet the holder one by one
  their_ids bigint[];
  position integer;
  met record;
  without_key record;
begin
  perform dogged.refuse_arrays(
    jsonb_build_object('names', cardinality(names), 'unique_keys', cardinality(enqueue_many_unique.unique_keys),
                       'unique_bys', cardinality(unique_bys), 'unique_whiles', cardinality(unique_whiles),
                       'on_conflicts', cardinality(on_conflicts), 'unique_periods', cardinality(unique_periods),
                       'latests', cardinality(latests), 'queues', cardinality(queues), 'run_ats', cardinality(run_ats),
                       'priorities', cardinality(priorities), 'trace_contexts', cardinality(trace_contexts),
                       'expires_ats', cardinality(expires_ats), 'tags', cardinality(enqueue_many_unique.tags),
                       'parent_ids', cardinality(parent_ids), 'args_versions', cardinality(args_versions)),
    tasks);
  name_of := dogged.for_each(names, tasks);
  unique_keys := dogged.for_each(enqueue_many_unique.unique_keys, tasks);
  unique_bys := dogged.for_each(case when enqueue_many_unique.unique_keys is null then coalesce(unique_bys, array['{""}']) else unique_bys end, tasks);
  unique_whiles := dogged.for_each(coalesce(unique_whiles, '{live}'), tasks);
  on_conflicts := dogged.for_each(coalesce(on_conflicts, '{keep}'), tasks);
  unique_periods := dogged.for_each(unique_periods, tasks);
  latests := dogged.for_each(latests, tasks);
  perform dogged.require_unique_times(p.name, p.period, p.latest, p.on_conflict, p.position::integer)
     from unnest(name_of, unique_periods, latests, on_conflicts) with ordinality as p (name, period, latest, on_conflict, position)
    where p.period is not null or p.latest is not null;
  select g.name, g.position, g.option into without_key
    from (select u.name, u.position,
                 case when u.on_conflict <> 'keep' then 'the on_conflict ' || u.on_conflict
                      when u.unique_while <> 'live' then 'the unique_while ' || u.unique_while
                      when u.period is not null then 'the unique_period ' || u.period
                      when u.latest is not null then 'the latest ' || u.latest end as option
            from unnest(name_of, enqueue_many_unique.unique_keys, unique_bys, unique_whiles, on_conflicts, unique_periods, latests)
                   with ordinality as u (name, unique_key, by, unique_while, on_conflict, period, latest, position)
           where u.unique_key is null and u.by is null) g
   where g.option is not null order by g.position limit 1;
  if found then
    raise exception '%, has %, and neither a unique_key nor a unique_by',
      dogged.task_in_call(without_key.name, without_key.position::integer), without_key.option
      using hint = 'Give it one of the two, as the unique_by ''{""}'' for all args, or leave the option out for a task that is not unique. '
                   'Nothing was enqueued.',
            errcode = 'invalid_parameter_value';
  end if;
  run_ats := dogged.for_each(run_ats, tasks);
  expires_ats := dogged.for_each(expires_ats, tasks);
  args_versions := dogged.for_each(args_versions, tasks);
  begin
    key_of := array(select coalesce(g.unique_key, dogged.hashed_key(g.args, g.by::text[]))
                      from unnest(enqueue_many_unique.args, enqueue_many_unique.unique_keys, unique_bys)
                             with ordinality as g (args, unique_key, by, position)
                     order by g.position);
  exception when invalid_text_representation then
    perform dogged.refuse_unique_bys(name_of, unique_bys);
    raise;
  end;
  perform dogged.refuse_task(g.name, g.args, 'default', null, 0, null, null, null, null, null, g.position::integer)
     from unnest(name_of, enqueue_many_unique.args) with ordinality as g (name, args, position)
    where g.name is null or g.args is null or octet_length(g.name) > 128;
  perform dogged.refuse_key(g.name, g.args, g.unique_key, g.by::text[], g.position::integer)
     from unnest(name_of, enqueue_many_unique.args, enqueue_many_unique.unique_keys, unique_bys, key_of) with ordinality
            as g (name, args, unique_key, by, key, position)
    where octet_length(g.unique_key) not between 1 and 512 or (g.unique_key is null) = (g.by is null) and g.by is not null
       or (g.key is null and g.by is not null) or cardinality(g.by::text[]) > 16;
  ids := array_fill(null::bigint, array[tasks]);
  outcomes := array_fill(null::text, array[tasks]);

  loop
    firsts := array(select min(g.position)::integer
                      from unnest(name_of, key_of, ids) with ordinality as g (name, unique_key, id, position)
                     where g.id is null
                     group by g.name, g.unique_key, case when g.unique_key is null then g.position end
                     order by 1);
    exit when firsts = '{}';
    drawn := array(select nextval('dogged.tasks_id_seq') from generate_series(1, cardinality(firsts)));
    -- In the order of keys, so that two calls do not wait for each other. A failed insert gives up its keys before the
    -- other begins. Mostly all keys are new, and an insert without ON CONFLICT takes half as long.
    begin
      insert into dogged.unique_keys (name, unique_key, task_id, held_while, held_until)
      select name_of[f.position], key_of[f.position], f.id, coalesce(unique_whiles[f.position], 'live'),
             now() + unique_periods[f.position]
        from unnest(firsts, drawn) as f (position, id)
       where key_of[f.position] is not null
       order by name_of[f.position] collate "C", key_of[f.position] collate "C";
      took := array(select f.id from unnest(firsts, drawn) as f (position, id) where key_of[f.position] is not null);
    exception when unique_violation then
      with taken as (
        insert into dogged.unique_keys (name, unique_key, task_id, held_while, held_until)
        select name_of[f.position], key_of[f.position], f.id, coalesce(unique_whiles[f.position], 'live'),
               now() + unique_periods[f.position]
          from unnest(firsts, drawn) as f (position, id)
         where key_of[f.position] is not null
         order by name_of[f.position] collate "C", key_of[f.position] collate "C"
            on conflict do nothing
        returning task_id
      )
      select array_agg(t.task_id) into took from taken t;
    end;
    if coalesce(cardinality(took), 0) < cardinality(firsts) then  -- some keys are taken, or there are tasks without a key
      -- Most holders are only to be named, and need no lock. In a call of 1,000 one statement takes 15 us a task, and take_key 50. A
      -- subquery in a subquery pins the plan to both keys.
      select array_agg(f.position), array_agg(f.holder) into named, holders
        from (select f.position,
                     (select (select t.id from dogged.tasks_live t
                               where t.id = k.task_id and (t.status = 'pending' and t.expires_at <= clock_timestamp()) is not true)
                        from dogged.unique_keys k
                       where k.name = name_of[f.position] and k.unique_key = key_of[f.position]
                         and (now() >= k.taken_at + unique_periods[f.position]) is not true) as holder
                from unnest(firsts, drawn) as f (position, id)
                left join unnest(took) as t (id) on t.id = f.id
               where t.id is null and coalesce(unique_whiles[f.position], 'live') = 'live'
                 and coalesce(on_conflicts[f.position], 'keep') = 'keep'
              offset 0) f
       where f.holder is not null;
      for i in 1 .. coalesce(cardinality(named), 0) loop
        ids[named[i]] := holders[i];
        outcomes[named[i]] := 'existed';
      end loop;
      -- take_key would lock the holders in the order of keys. move_tasks and emit lock in the order of ids, so that could deadlock.
      holders := array(
        select (select k.task_id from dogged.unique_keys k
                 where k.name = name_of[f.position] and k.unique_key = key_of[f.position] and k.task_id <> f.id)
          from unnest(firsts, drawn) as f (position, id)
         where unique_whiles[f.position] = 'pending' or on_conflicts[f.position] not in ('keep', 'refuse'));
      if exists (select from unnest(on_conflicts) as c (on_conflict) where c.on_conflict not in ('keep', 'refuse')) then
        perform from dogged.tasks_live t where t.id = any (holders) and t.status = 'pending' order by t.id for update;
      else
        perform from dogged.tasks_live t where t.id = any (holders) and t.status = 'pending' order by t.id for share;
      end if;
      -- A loop over the rows of this query would copy the arrays into a form in which each element is searched from the beginning.
      select array_agg(f.position order by f.name collate "C", f.key collate "C"), array_agg(f.id order by f.name collate "C", f.key collate "C")
        into untaken, their_ids
        from (select f.position, f.id, name_of[f.position] as name, key_of[f.position] as key
                from unnest(firsts, drawn) as f (position, id)
                left join unnest(took) as t (id) on t.id = f.id
               where t.id is null and key_of[f.position] is not null and ids[f.position] is null) f;
      for i in 1 .. coalesce(cardinality(untaken), 0) loop
        position := untaken[i];
        select * into met
          from dogged.take_key(name_of[position], key_of[position], their_ids[i], coalesce(unique_whiles[position], 'live'),
                               coalesce(on_conflicts[position], 'keep'), unique_periods[position], latests[position],
                               enqueue_many_unique.args[position], run_ats[position], expires_ats[position],
                               args_versions[position], position);
        if met.outcome <> 'enqueued' then
          ids[position] := met.holder;
          outcomes[position] := met.outcome;
        end if;
      end loop;
    end if;

    fresh := array(select f.place::integer from unnest(firsts) with ordinality as f (position, place)
                    where ids[f.position] is null order by f.place);
    if fresh <> '{}' then
      drawn := dogged.those(drawn, fresh);
      firsts := dogged.those(firsts, fresh);
      perform dogged.insert_many(
        dogged.those(names, firsts), dogged.those(enqueue_many_unique.args, firsts), dogged.those(queues, firsts),
        dogged.those(run_ats, firsts), dogged.those(priorities, firsts), dogged.those(trace_contexts, firsts),
        dogged.those(expires_ats, firsts), dogged.those(enqueue_many_unique.tags, firsts), dogged.those(parent_ids, firsts),
        dogged.those(args_versions, firsts), drawn, dogged.those(key_of, firsts), firsts);
      for i in 1 .. cardinality(firsts) loop
        ids[firsts[i]] := drawn[i];
        outcomes[firsts[i]] := 'enqueued';
      end loop;
    end if;

    -- Further tasks of the same keys meet the first as their holder, unless it has begun already.
    for position in
      select g.position::integer from unnest(ids) with ordinality as g (id, position) where g.id is null order by g.position
    loop
      select * into met
        from dogged.take_key(name_of[position], key_of[position], null, coalesce(unique_whiles[position], 'live'),
                             coalesce(on_conflicts[position], 'keep'), unique_periods[position], latests[position],
                             enqueue_many_unique.args[position], run_ats[position], expires_ats[position],
                             args_versions[position], position);
      if met.outcome is not null then
        ids[position] := met.holder;
        outcomes[position] := met.outcome;
      end if;
    end loop;
  end loop;
  return query select u.id, u.outcome from unnest(ids, outcomes) as u (id, outcome);
end $$;
comment on function dogged.enqueue_many_unique(text[], jsonb[], text[], text[], dogged.unique_while[], dogged.unique_conflict[],
                                               interval[], interval[], text[], timestamptz[], integer[], text[], timestamptz[], text[],
                                               bigint[], integer[]) is
  'Like dogged.enqueue_unique for many tasks, all or none, in order. The arrays are as in dogged.enqueue_many. unique_bys: for each '
  'task the text of an array, as ''{/customer/id}''. Without both arrays each task is unique by all its args. With one of them a task that has '
  'neither unique_key nor unique_by is not unique, and may have no other option of a unique task. Of tasks with the same key in one '
  'call, the first is enqueued, and meets the others as their holder.';

create or replace function dogged.forget_keys() returns integer
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  forgotten integer;
begin
  delete from dogged.unique_keys k
   using (select o.name, o.unique_key, o.task_id, o.taken_at
            from dogged.unique_keys o
           where (o.held_until is null or o.held_until < now())
             and not exists (select from dogged.tasks_live t where t.id = o.task_id)
             and (o.held_while <> 'kept' or o.held_until is not null
                  or not exists (select from dogged.tasks t where t.id = o.task_id))
           limit 10000 for update skip locked) old
   -- A replay meanwhile lets the same task take its key again.
   where k.name = old.name and k.unique_key = old.unique_key and k.task_id = old.task_id and k.taken_at = old.taken_at;
  get diagnostics forgotten = row_count;
  return forgotten;
end $$;
comment on function dogged.forget_keys() is
  'Deletes up to 10,000 unique keys whose tasks hold them no longer; returns their number.';
