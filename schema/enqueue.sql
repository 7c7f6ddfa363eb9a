-- dogged.enqueue(…) and dogged.enqueue_many(…) enqueue tasks; the C++ client calls them too. Both insert valid tasks in
-- the caller's transaction, and wake a sleeping worker at commit. Both run as the owner of the schema, so that a
-- producer needs no right on any table. If a task was not inserted, the function looks for the mistake. Its errors have
-- SQLSTATE 22023 and say what to do. docs/decisions/0004 gives the reasons for the form of these functions.

-- In PL/pgSQL, with qualified names: inlined, its operators took 3.5 % of each enqueue, with tags or without
-- (docs/decisions/0004).
create or replace function dogged.are_sound_tags(tags text[]) returns boolean
language plpgsql stable parallel safe as $$
begin
  return pg_catalog.cardinality(tags) operator(pg_catalog.=) 0
    or (pg_catalog.array_ndims(tags) operator(pg_catalog.=) 1 and pg_catalog.cardinality(tags) operator(pg_catalog.<=) 256
        and pg_catalog.octet_length(pg_catalog.array_to_string(tags, ',')) operator(pg_catalog.<=) 512
        and pg_catalog.array_to_string(tags, ',', '')
            operator(pg_catalog.~) '^[A-Za-z0-9][A-Za-z0-9._:/-]*(,[A-Za-z0-9][A-Za-z0-9._:/-]*)*$'
        and pg_catalog.cardinality(pg_catalog.string_to_array(pg_catalog.array_to_string(tags, ','), ','))
            operator(pg_catalog.=) pg_catalog.cardinality(tags));  -- no tag has a comma
end $$;
comment on function dogged.are_sound_tags(text[]) is
  'Internal: whether a task may have these tags: each of A-Z a-z 0-9 . _ : / - beginning with a letter or a digit, and with '
  'commas between them up to 512 bytes. Null for null.';

-- SQL-standard form: the body is bound when it is created, so that no search_path can change it, and is inlined in its
-- callers.
create or replace function dogged.is_sound_task(name text, run_at timestamptz, priority integer, trace_context text,
                                                expires_at timestamptz, tags text[], parent_id bigint, args_version integer)
returns boolean
language sql stable return
  octet_length(name) <= 128 and name ~ '^[A-Za-z0-9][A-Za-z0-9._:/-]*$'
  and (run_at is null or run_at between now() - interval '5 minutes' and now() + interval '10 years')
  and (priority is null or priority between -32768 and 32767)
  and (trace_context is null or octet_length(trace_context) <= 512)
  and (expires_at is null or (expires_at > greatest(now(), run_at) and expires_at <= now() + interval '10 years'))
  and (parent_id is null or parent_id > 0)
  and (args_version is null or args_version between 1 and 32767)
  and (tags is null or dogged.are_sound_tags(tags));
comment on function dogged.is_sound_task(text, timestamptz, integer, text, timestamptz, text[], bigint, integer) is
  'Internal: whether enqueue takes a task, if its queue exists and its args are not too long.';

-- Reads the queue's part of both indexes until it has counted `most`, and no rows of other queues: 0.2 ms for a
-- thousand tasks. The function runs as the schema's owner, like has_room: a login that may enqueue need not be able to
-- read tasks.
create or replace function dogged.held_of_queue(queue text, most integer) returns integer
language plpgsql stable security definer set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_bitmapscan = off as $$
begin
  return (select count(*)
            from (select from ((select from dogged.tasks_live t
                                 where not t.deferred and hashtext(t.queue) = hashtext(held_of_queue.queue) and t.queue = held_of_queue.queue limit held_of_queue.most)
                               union all
                               (select from dogged.tasks_live t
                                 where t.deferred and hashtext(t.queue) = hashtext(held_of_queue.queue) and t.queue = held_of_queue.queue limit held_of_queue.most)) found
                   limit held_of_queue.most) held);
end $$;
comment on function dogged.held_of_queue(text, integer) is
  'The number of tasks of the queue that have not ended; no more than `most` are counted.';

-- Counts only if the ids given out since the last count could have filled the queue. A counter would be a row that
-- every enqueue and every completion waits for. No transaction waits for the row of queue_depths: a transaction that
-- finds the row locked counts by itself.
create or replace function dogged.has_room(queue text, max_depth integer, more integer, own_id bigint default null)
returns boolean
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  given_out constant bigint :=
    (select case when s.is_called then s.last_value else 0 end from dogged.tasks_id_seq s);
  counted integer;
begin
  if exists (select from dogged.queue_depths d
              where d.queue = has_room.queue and given_out >= d.last_id and (d.last_id < has_room.own_id) is not false
                and d.held + (given_out - d.last_id) + has_room.more <= has_room.max_depth) then
    return true;
  end if;
  counted := dogged.held_of_queue(has_room.queue, has_room.max_depth + 1);
  if counted + has_room.more > has_room.max_depth then return false; end if;
  if current_setting('transaction_isolation') = 'read committed' then
    perform from dogged.queue_depths d where d.queue = has_room.queue for update skip locked;
    if found then
      update dogged.queue_depths d set held = counted, last_id = given_out where d.queue = has_room.queue;
    end if;
  end if;
  return true;
end $$;
comment on function dogged.has_room(text, integer, integer, bigint) is
  'Whether this many more tasks fit into a queue. Concurrent enqueues that are not committed are not counted. own_id: the first id '
  'of the tasks that the caller has inserted. A count that was made after this id was given out has not seen these tasks.';

create or replace function dogged.refuse_for_depth(queue text, held integer, max_depth integer, more integer) returns void
language plpgsql immutable set search_path = pg_catalog, pg_temp as $$
begin
  if refuse_for_depth.held + refuse_for_depth.more <= refuse_for_depth.max_depth then return; end if;
  raise exception '%',
    format('the queue "%s" is full: it holds %s task%s%s, its limit is %s%s', refuse_for_depth.queue, refuse_for_depth.held,
           case when refuse_for_depth.held <> 1 then 's' end,
           case when refuse_for_depth.held > refuse_for_depth.max_depth then ' or more' end, refuse_for_depth.max_depth,
           case when refuse_for_depth.held < refuse_for_depth.max_depth
                then format(', and %s more do not fit in', refuse_for_depth.more) end)
    using errcode = '53Q01',
          hint = 'Nothing was enqueued. Wait until tasks have ended, as EnqueueOptions::wait_for_room does, or raise '
                 'max_depth (dogged.set_queue, dogged queues set).';
end $$;
comment on function dogged.refuse_for_depth(text, integer, integer, integer) is
  'Raises the error (53Q01) of an enqueue to a queue that has no room for this many more tasks.';

-- Runs after the insert, so it counts the tasks that this call has inserted.
create or replace function dogged.require_room(queues text[], own_id bigint) returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  used record;
begin
  for used in
    select q.name, q.max_depth, wanted.more
      from (select w.name, count(*)::integer as more from unnest(require_room.queues) as w (name) group by w.name) wanted
      join dogged.queues q on q.name = wanted.name
     where q.max_depth is not null
     order by q.name
  loop
    if not dogged.has_room(used.name, used.max_depth, 0, require_room.own_id) then
      perform dogged.refuse_for_depth(
        used.name, dogged.held_of_queue(used.name, used.max_depth + used.more + 1) - used.more, used.max_depth, used.more);
    end if;
  end loop;
end $$;
comment on function dogged.require_room(text[], bigint) is
  'Raises an error if a queue holds more tasks than its max_depth after an insert. queues: the queue of each inserted task; '
  'own_id: the first of their ids.';

create or replace function dogged.mistake_in_tags(tags text[]) returns text
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
declare
  tag text;
begin
  -- First come the checks that do not look at each tag: there may be millions of tags.
  if cardinality(tags) > 256 then
    return format('it has %s tags; no more than 256 fit into 512 bytes with commas between them', cardinality(tags));
  elsif pg_column_size(tags) > 16384 then
    return format('its tags have %s bytes; the limit is 512, with commas between them', pg_column_size(tags));
  elsif array_ndims(tags) > 1 then
    return format('its tags %s are an array of arrays', left(tags::text, 128));
  end if;
  foreach tag in array tags loop
    if tag is null then return 'one of its tags is null'; end if;
    if tag !~ '^[A-Za-z0-9][A-Za-z0-9._:/-]*$' then
      return format('its tag "%s" is not made of A-Z a-z 0-9 . _ : / - beginning with a letter or a digit', left(tag, 128));
    end if;
  end loop;
  return format('its tags have %s bytes with commas between them; the limit is 512', octet_length(array_to_string(tags, ',')));
end $$;
comment on function dogged.mistake_in_tags(text[]) is 'Internal: what is wrong with tags that enqueue refuses.';

-- Checks the rights of the session, because this function runs as the owner. `role` is the role of SET ROLE, or none.
create or replace function dogged.queues_to_tell_of() returns text
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
begin
  if not has_table_privilege(coalesce(nullif(current_setting('role'), 'none'), session_user), 'dogged.queues', 'select') then
    return '';
  end if;
  return (select format('There are: %s. ', string_agg(q.name, ', ' order by q.name))
            from (select * from dogged.queues order by name limit 20) q);
end $$;
comment on function dogged.queues_to_tell_of() is
  'Internal: the names of queues for an error message. Empty if the session may not read queues: a login that may only enqueue '
  'does not learn their names.';
-- The length of args as text, as far as it matters. 8 bytes of args can be 131,072 bytes as text: numbers such as
-- 1e131071. So 2,048 bytes are at most 22 MB. In longer args the numbers are measured first, one by one.
create or replace function dogged.numbers_exceed(value jsonb, most integer) returns boolean
language plpgsql immutable parallel safe set search_path = pg_catalog, pg_temp as $$
declare
  bytes bigint := 0;
  number text;
begin
  for number in select n::text from jsonb_path_query(value, 'strict $.** ? (@.type() == "number")') n loop
    bytes := bytes + octet_length(number);
    if bytes > most then return true; end if;
  end loop;
  return false;
end $$;
comment on function dogged.numbers_exceed(jsonb, integer) is
  'Internal: whether the numbers of a document have more than `most` bytes as text. Stops counting as soon as they have.';

create or replace function dogged.json_bytes(value jsonb, most integer) returns integer
language sql stable parallel safe return
  case when pg_column_size(value) <= 2048 or not dogged.numbers_exceed(value, most) then octet_length(value::text) end;
comment on function dogged.json_bytes(jsonb, integer) is
  'Internal: how many bytes a document has as text; null where its numbers alone have more than `most`.';

create or replace function dogged.task_in_call(name text, number integer) returns text
language sql immutable parallel safe return
  format('task "%s"', left(name, 128)) || case when number is not null then format(', number %s of the call', number) else '' end;
comment on function dogged.task_in_call(text, integer) is
  'Internal: how an error names a task that an enqueue refuses. number: its place in a call of many; null: a call of one.';

create or replace function dogged.refuse_task(name text, args jsonb, queue text, run_at timestamptz, priority integer,
                                              trace_context text, expires_at timestamptz, tags text[], parent_id bigint,
                                              args_version integer, number integer default null) returns void
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
declare
  max_args_bytes constant integer := (select s.max_args_bytes from dogged.settings s);
  args_bytes constant integer := dogged.json_bytes(refuse_task.args, max_args_bytes);
  max_depth constant integer := (select q.max_depth from dogged.queues q where q.name = refuse_task.queue);
  what constant text := dogged.task_in_call(refuse_task.name, refuse_task.number);
  its_number constant text := coalesce(format(', number %s of the call', refuse_task.number), '');
  mistake text;
  remedy text := 'Nothing was enqueued.';
  code text := 'invalid_parameter_value';
begin
  if refuse_task.name is null or refuse_task.name = '' then
    mistake := 'a task needs a name, and it is ' || case when refuse_task.name is null then 'null' else 'empty' end || its_number;
  elsif octet_length(refuse_task.name) > 128 then
    mistake := format('the task name "%s…" has %s bytes; the limit is 128%s', left(refuse_task.name, 40),
                      octet_length(refuse_task.name), its_number);
  elsif refuse_task.name !~ '^[A-Za-z0-9][A-Za-z0-9._:/-]*$' then
    mistake := format('the task name "%s" is not made of A-Z a-z 0-9 . _ : / - beginning with a letter or a digit%s',
                      refuse_task.name, its_number);
  elsif refuse_task.args is null then
    mistake := what || ': args is null';
    remedy := 'Leave args out for {}, or give ''null''::jsonb for a JSON null.';
  elsif (args_bytes <= max_args_bytes) is not true then
    mistake := format('%s: its args have %s bytes as JSON; the limit is %s', what,
                      coalesce(args_bytes::text, 'many more'), max_args_bytes);
    remedy := 'Keep large data elsewhere and pass a reference, or raise dogged.settings.max_args_bytes.';
  elsif not exists (select from dogged.queues q where q.name = refuse_task.queue) then
    mistake := format('%s: the queue "%s" does not exist', what, left(refuse_task.queue, 128));
    remedy := dogged.queues_to_tell_of() ||
              'A worker creates the queues of its tasks; dogged.create_queue(name) creates one now.';
    code := '22Q01';
  elsif not isfinite(refuse_task.run_at) then
    mistake := format('%s: run_at is %s', what, refuse_task.run_at);
    remedy := 'Give a time, or leave run_at out to run at once.';
  elsif refuse_task.run_at < now() - interval '5 minutes' then
    mistake := format('%s: run_at %s is in the past (it is %s)', what, refuse_task.run_at, now());
    remedy := 'Leave run_at out to run at once; up to 5 minutes past is taken as now, for clocks that differ.';
  elsif refuse_task.run_at > now() + interval '10 years' then
    mistake := format('%s: run_at %s is more than 10 years ahead', what, refuse_task.run_at);
    remedy := 'Check its unit: milliseconds taken for seconds look like this.';
  elsif refuse_task.priority not between -32768 and 32767 then
    mistake := format('%s: priority %s is not between -32768 and 32767', what, refuse_task.priority);
  elsif octet_length(refuse_task.trace_context) > 512 then
    mistake := format('%s: trace_context has %s bytes; the limit is 512', what, octet_length(refuse_task.trace_context));
  elsif not isfinite(refuse_task.expires_at) then
    mistake := format('%s: expires_at is %s', what, refuse_task.expires_at);
    remedy := 'Give a time, or leave expires_at out: then the task does not expire.';
  elsif refuse_task.expires_at <= now() then
    mistake := format('%s: expires_at %s is in the past (it is %s), so it would never run', what, refuse_task.expires_at,
                      now());
    remedy := 'Give a later time, or leave expires_at out: then the task does not expire.';
  elsif refuse_task.expires_at <= refuse_task.run_at then
    mistake := format('%s: expires_at %s is not after run_at %s, so it would never run', what, refuse_task.expires_at,
                      refuse_task.run_at);
    remedy := 'Between the two is the time in which it may begin: move either.';
  elsif refuse_task.expires_at > now() + interval '10 years' then
    mistake := format('%s: expires_at %s is more than 10 years ahead', what, refuse_task.expires_at);
    remedy := 'Check its unit (milliseconds taken for seconds look like this), or leave it out.';
  elsif not dogged.are_sound_tags(refuse_task.tags) then
    mistake := what || ': ' || dogged.mistake_in_tags(refuse_task.tags);
  elsif refuse_task.parent_id <= 0 then
    mistake := format('%s: parent_id is %s; ids of tasks are positive', what, refuse_task.parent_id);
    remedy := 'Leave parent_id out, or null, for a task without a parent.';
  elsif refuse_task.args_version not between 1 and 32767 then
    mistake := format('%s: args_version %s is not between 1 and 32767', what, refuse_task.args_version);
    remedy := 'Give the version in the task''s key; leave args_version out for 1.';
  else
    if max_depth is not null then
      perform dogged.refuse_for_depth(refuse_task.queue, dogged.held_of_queue(refuse_task.queue, max_depth + 1), max_depth, 1);
    end if;
    raise exception 'a queue, a definition or a setting was changed while % was enqueued', what
      using hint = 'Nothing was enqueued: do it again.', errcode = 'serialization_failure';
  end if;
  raise exception using message = mistake, hint = remedy, errcode = code;
end $$;
comment on function dogged.refuse_task(text, jsonb, text, timestamptz, integer, text, timestamptz, text[], bigint, integer, integer) is
  'Internal: raises the error of a task that enqueue refuses. number: as of task_in_call.';

create or replace function dogged.refuse_arrays(lengths jsonb, tasks integer) returns void
language plpgsql immutable set search_path = pg_catalog, pg_temp as $$
declare
  other record;
begin
  if refuse_arrays.tasks is null then
    raise exception 'args is null; give one for each task'
      using hint = 'Nothing was enqueued. For no tasks give an empty array: coalesce(array_agg(…), ''{}'').',
            errcode = 'invalid_parameter_value';
  end if;
  for other in
    select l.key as name, coalesce(l.value::integer, 0) as length from jsonb_each_text(refuse_arrays.lengths) as l
     where coalesce(l.value::integer, 0) not in (1, refuse_arrays.tasks) and (l.key = 'names' or l.value is not null)
     order by l.key <> 'names', l.key
     limit 1
  loop
    raise exception 'there are % % and % args; give one for each task, or one for all',
      other.length, other.name, refuse_arrays.tasks
      using hint = 'Nothing was enqueued.', errcode = 'invalid_parameter_value';
  end loop;
end $$;
comment on function dogged.refuse_arrays(jsonb, integer) is
  'Internal: raises the error that says which array of enqueue_many does not fit its args. lengths: the length of each array, by '
  'its name.';

-- A transaction with an older snapshot still sees a queue that was deleted or renamed since. The transaction does not
-- see that a worker has fallen asleep since.
create or replace function dogged.end_enqueue_of_old_snapshot(queues text[]) returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  perform from dogged.queues q where q.name = any (end_enqueue_of_old_snapshot.queues) order by q.name for key share;
  perform pg_notify('dogged.wake', q.name) from (select distinct u.name from unnest(end_enqueue_of_old_snapshot.queues) as u (name)) q;
end $$;
comment on function dogged.end_enqueue_of_old_snapshot(text[]) is
  'Internal: for an enqueue or a move whose transaction is not READ COMMITTED. The function raises 40001 if one of the queues is gone. '
  'Otherwise none of them can be deleted until the transaction ends. The function wakes their workers.';

create or replace function dogged.insert_many(
  names text[], args jsonb[], queues text[] default null, run_ats timestamptz[] default null,
  priorities integer[] default null, trace_contexts text[] default null, expires_ats timestamptz[] default null,
  tags text[] default null, parent_ids bigint[] default null, args_versions integer[] default null, ids bigint[] default null,
  unique_keys text[] default null, numbers integer[] default null)
returns bigint[]
language plpgsql set search_path = pg_catalog, pg_temp
-- One plan for calls of every size, with hash lookups. Planned anew each time, a call for one task took twice as long.
set plan_cache_mode = force_generic_plan set enable_nestloop = off set array_nulls = on as $$
#variable_conflict use_column
declare
  own_transaction constant xid8 := pg_current_xact_id();  -- before an id is taken: see src/sql/claim/settle_watermarks.sql
  tasks constant integer := cardinality(insert_many.args);
  max_args_bytes constant integer := (select s.max_args_bytes from dogged.settings s);
  -- Args that are no longer than this as jsonb are short enough as text, so they are not converted to text. The longest
  -- text is that of a number with 131,072 digits before its point and 16,383 after, which may take 14 bytes. The
  -- elements of an array are neither compressed nor stored out of line.
  surely_short constant integer := max_args_bytes / 16384;
  are_alike constant boolean :=  -- except for their args and unique keys
    greatest(cardinality(names), cardinality(queues), cardinality(run_ats), cardinality(priorities),
             cardinality(trace_contexts), cardinality(expires_ats), cardinality(insert_many.tags), cardinality(parent_ids),
             cardinality(args_versions)) = 1;
  common record;  -- the values given once for all tasks
  tags_of_all text[];
  -- Used if the tasks are alike. Variables, because a record's field takes longer to read, for each task.
  queue_of_all text;
  name_of_all text;
  run_at_of_all timestamptz;
  deferred_are_all boolean;
  priority_of_all smallint;
  trace_context_of_all text;
  expires_at_of_all timestamptz;
  parent_id_of_all bigint;
  args_version_of_all smallint;
  are_all_sound boolean;  -- except for their args

  inserted bigint;
  bad record;
  has_old_snapshot constant boolean := current_setting('transaction_isolation') <> 'read committed';
  has_limits boolean;
  some_may_sleep boolean;
  queues_used text[];
begin
  if (tasks is not null and cardinality(names) in (1, tasks)
      and coalesce(cardinality(queues), 1) in (1, tasks) and coalesce(cardinality(run_ats), 1) in (1, tasks)
      and coalesce(cardinality(priorities), 1) in (1, tasks) and coalesce(cardinality(trace_contexts), 1) in (1, tasks)
      and coalesce(cardinality(expires_ats), 1) in (1, tasks)
      and coalesce(cardinality(insert_many.tags), 1) in (1, tasks)
      and coalesce(cardinality(parent_ids), 1) in (1, tasks)
      and coalesce(cardinality(args_versions), 1) in (1, tasks)) is not true then
    perform dogged.refuse_arrays(
      jsonb_build_object('names', cardinality(names), 'queues', cardinality(queues), 'run_ats', cardinality(run_ats),
                         'priorities', cardinality(priorities), 'trace_contexts', cardinality(trace_contexts),
                         'expires_ats', cardinality(expires_ats), 'tags', cardinality(insert_many.tags),
                         'parent_ids', cardinality(parent_ids), 'args_versions', cardinality(args_versions)),
      tasks);
  end if;
  if tasks = 0 then return '{}'; end if;

  select g.* into common
    from unnest(case when cardinality(names) = 1 then names end,
                case when cardinality(queues) = 1 then queues end,
                case when cardinality(run_ats) = 1 then run_ats end,
                case when cardinality(priorities) = 1 then priorities end,
                case when cardinality(trace_contexts) = 1 then trace_contexts end,
                case when cardinality(expires_ats) = 1 then expires_ats end,
                case when cardinality(insert_many.tags) = 1 then insert_many.tags end,
                case when cardinality(parent_ids) = 1 then parent_ids end,
                case when cardinality(args_versions) = 1 then args_versions end)
           as g (name, queue, run_at, priority, trace_context, expires_at, tags, parent_id, args_version);
  if cardinality(names) = 1 then names := null; end if;
  if cardinality(queues) = 1 then queues := null; end if;
  if cardinality(run_ats) = 1 then run_ats := null; end if;
  if cardinality(priorities) = 1 then priorities := null; end if;
  if cardinality(trace_contexts) = 1 then trace_contexts := null; end if;
  if cardinality(expires_ats) = 1 then expires_ats := null; end if;
  if cardinality(insert_many.tags) = 1 then tags := null; end if;
  if cardinality(parent_ids) = 1 then parent_ids := null; end if;
  if cardinality(args_versions) = 1 then args_versions := null; end if;
  -- Before the casts, which take seconds for millions of tags.
  if greatest(octet_length(common.tags), (select max(octet_length(t.tags)) from unnest(insert_many.tags) as t (tags))) > 65536 then
    raise exception 'the tags of a task have more than 65536 bytes as text; the limit is 512, with commas between them'
      using errcode = 'invalid_parameter_value';
  end if;
  tags_of_all := nullif(common.tags::text[], '{}');

  -- Ids are in the order of the tasks. The function draws the ids before the insert, because the inserted rows come
  -- back in no defined order.
  if are_alike then
    queue_of_all := (select q.name from dogged.queues q
                      where q.name = coalesce(common.queue, (select d.queue from dogged.task_definitions d
                                                              where d.name = common.name), 'default'));
    name_of_all := common.name;
    run_at_of_all := coalesce(common.run_at, now());
    deferred_are_all := run_at_of_all > now();
    trace_context_of_all := common.trace_context;
    expires_at_of_all := common.expires_at;
    are_all_sound := queue_of_all is not null and dogged.is_sound_task(common.name, common.run_at, common.priority,
                                                                       common.trace_context, common.expires_at, tags_of_all,
                                                                       common.parent_id, common.args_version);
    if are_all_sound then
      parent_id_of_all := common.parent_id;
      args_version_of_all := nullif(common.args_version, 1);
      priority_of_all := coalesce(common.priority, 0);
      ids := coalesce(ids, (select array_agg(nextval('dogged.tasks_id_seq')) from (select generate_series(1, tasks)) as each));
    end if;
    -- PostgreSQL reads sets in the select list row by row, and stores the rows of a set in FROM first. Storing took 3 %
    -- of a call of 1,000 tasks.
    insert into dogged.tasks_live (id, queue, name, args, run_at, deferred, priority, trace_context, expires_at, tags, parent_id,
                                   args_version, unique_key)
    select t.id, queue_of_all, name_of_all, t.args, run_at_of_all, deferred_are_all, priority_of_all,
           trace_context_of_all, expires_at_of_all, tags_of_all, parent_id_of_all, args_version_of_all, t.unique_key
      from (select unnest(ids) as id, unnest(insert_many.args) as args, unnest(insert_many.unique_keys) as unique_key) t
     where are_all_sound
       and (pg_column_size(t.args) <= surely_short or dogged.json_bytes(t.args, max_args_bytes) <= max_args_bytes);
  else
    ids := coalesce(ids, (select array_agg(nextval('dogged.tasks_id_seq')) from generate_series(1, tasks)));
    insert into dogged.tasks_live (id, queue, name, args, run_at, deferred, priority, trace_context, expires_at, tags, parent_id,
                                   args_version, unique_key)
    select ids[t.position], q.name, t.name, t.args, coalesce(t.run_at, now()), coalesce(t.run_at > now(), false),
           coalesce(t.priority, 0), t.trace_context, t.expires_at, t.tags, t.parent_id, nullif(t.args_version, 1),
           insert_many.unique_keys[t.position]
      -- offset 0: the text of tags is parsed once, not at each use.
      from (select coalesce(g.name, common.name) as name, g.args, g.queue, coalesce(g.run_at, common.run_at) as run_at,
                   coalesce(g.priority, common.priority) as priority,
                   coalesce(g.trace_context, common.trace_context) as trace_context,
                   coalesce(g.expires_at, common.expires_at) as expires_at,
                   coalesce(nullif(g.tags::text[], '{}'), tags_of_all) as tags,
                   coalesce(g.parent_id, common.parent_id) as parent_id,
                   coalesce(g.args_version, common.args_version) as args_version, g.position
              from unnest(names, insert_many.args, queues, run_ats, priorities, trace_contexts, expires_ats, insert_many.tags,
                          parent_ids, args_versions)
                     with ordinality as g (name, args, queue, run_at, priority, trace_context, expires_at, tags, parent_id,
                                           args_version, position)
            offset 0) t
      left join dogged.task_definitions d on d.name = t.name
      join dogged.queues q on q.name = coalesce(t.queue, common.queue, d.queue, 'default')
     where dogged.is_sound_task(t.name, t.run_at, t.priority, t.trace_context, t.expires_at, t.tags, t.parent_id, t.args_version)
       and (pg_column_size(t.args) <= surely_short or dogged.json_bytes(t.args, max_args_bytes) <= max_args_bytes);
  end if;
  get diagnostics inserted = row_count;

  if inserted <> tasks then
    -- No join and no sort: the scan stops at the first bad task. Common values, which may be long, are not copied for
    -- each task.
    select coalesce(t.name, common.name) as name, t.args, w.queue, coalesce(t.run_at, common.run_at) as run_at,
           coalesce(t.priority, common.priority, 0) as priority, coalesce(t.trace_context, common.trace_context) as trace_context,
           coalesce(t.expires_at, common.expires_at) as expires_at, coalesce(t.tags::text[], tags_of_all) as tags,
           coalesce(t.parent_id, common.parent_id) as parent_id, coalesce(t.args_version, common.args_version) as args_version,
           coalesce(numbers[t.position], t.position)::integer as number
      into bad
      from unnest(names, insert_many.args, queues, run_ats, priorities, trace_contexts, expires_ats, insert_many.tags, parent_ids,
                  args_versions) with ordinality
             as t (name, args, queue, run_at, priority, trace_context, expires_at, tags, parent_id, args_version, position)
     cross join lateral (
       select coalesce(t.queue, common.queue, (select d.queue from dogged.task_definitions d
                                                where d.name = coalesce(t.name, common.name)), 'default') as queue) w
     where (exists (select from dogged.queues q where q.name = w.queue)
            and dogged.is_sound_task(coalesce(t.name, common.name), coalesce(t.run_at, common.run_at),
                                     coalesce(t.priority, common.priority), coalesce(t.trace_context, common.trace_context),
                                     coalesce(t.expires_at, common.expires_at), coalesce(t.tags::text[], tags_of_all),
                                     coalesce(t.parent_id, common.parent_id), coalesce(t.args_version, common.args_version))
            and dogged.json_bytes(t.args, max_args_bytes) <= max_args_bytes
           ) is not true
     limit 1;
    if not found then
      raise exception 'a queue, a definition or a setting was changed while tasks were enqueued'
        using hint = 'Nothing was enqueued: do it again.', errcode = 'serialization_failure';
    end if;
    perform dogged.refuse_task(bad.name, bad.args, bad.queue, bad.run_at, bad.priority, bad.trace_context, bad.expires_at, bad.tags,
                               bad.parent_id, bad.args_version, bad.number);
  end if;

  has_limits := exists (select from dogged.queues q where q.max_depth is not null);
  -- The query for sleeping workers follows the insert and has its own snapshot. A worker that falls asleep meanwhile
  -- either sees the rows or waits for this transaction to end (fall_asleep.sql).
  some_may_sleep := has_old_snapshot or exists (select from dogged.workers w where w.asleep);
  if not has_limits and not some_may_sleep then return ids; end if;

  queues_used := case when are_alike then array[queue_of_all] else array(
    select coalesce(t.queue, common.queue, d.queue, 'default')
      from unnest(case when names is null and queues is null then array_fill(common.name, array[tasks]) else names end, queues)
             as t (name, queue)
      left join dogged.task_definitions d on d.name = coalesce(t.name, common.name)) end;
  if has_limits then
    perform dogged.require_room(case when are_alike then array_fill(queue_of_all, array[tasks]) else queues_used end, ids[1]);
  end if;
  if has_old_snapshot then
    perform dogged.end_enqueue_of_old_snapshot(queues_used);
  elsif some_may_sleep then
    queues_used := array(select distinct u.queue from unnest(queues_used) as u (queue));
    if exists (select from dogged.workers w where w.asleep and w.queues ?| queues_used) then
      perform pg_notify('dogged.wake', case when cardinality(queues_used) = 1 then queues_used[1] else '' end);
    end if;
  end if;
  return ids;
end $$;
comment on function dogged.insert_many(text[], jsonb[], text[], timestamptz[], integer[], text[], timestamptz[], text[], bigint[],
                                       integer[], bigint[], text[], integer[]) is
  'Internal: inserts the tasks of enqueue_many and of enqueue_many_unique, all or none, and returns their ids in order. ids, '
  'unique_keys, numbers: null, or an element for each task; ids are in the order in which they were drawn. numbers: the places of the tasks '
  'in their call, for errors; null: they are the whole call.';

create or replace function dogged.enqueue_many(
  names text[], args jsonb[], queues text[] default null, run_ats timestamptz[] default null,
  priorities integer[] default null, trace_contexts text[] default null, expires_ats timestamptz[] default null,
  tags text[] default null, parent_ids bigint[] default null, args_versions integer[] default null)
returns bigint[]
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  return dogged.insert_many(names, args, queues, run_ats, priorities, trace_contexts, expires_ats, tags, parent_ids, args_versions);
end $$;
comment on function dogged.enqueue_many(text[], jsonb[], text[], timestamptz[], integer[], text[], timestamptz[], text[], bigint[],
                                        integer[]) is
  'Enqueues tasks in the caller''s transaction, all or none, and returns their ids in order. args has an element for each task. In '
  'every other array, element i belongs to task i. An array of one element applies to all tasks, which is faster. A null array or '
  'element means the default (see dogged.enqueue). tags: for each task the text of an array, as ''{eu,vip}''.';

-- Enqueues one task without joins and with as few tables as possible: each table leaves the CPU's caches between two
-- waits for the disk. Every name is qualified, of types and operators too: the function runs as the owner, and a caller
-- could replace an unqualified name. Setting a search_path instead took longer than all the rest.
create or replace function dogged.enqueue(
  name text, args jsonb default '{}', queue text default null, run_at timestamptz default null,
  priority integer default 0, trace_context text default null, expires_at timestamptz default null, tags text[] default null,
  parent_id bigint default null, args_version integer default null, producer uuid default null, call bigint default null)
returns bigint
language plpgsql security definer set plan_cache_mode = force_generic_plan as $$
#variable_conflict use_column
declare
  own_transaction constant pg_catalog.xid8 := pg_catalog.pg_current_xact_id();  -- before an id is taken, as in insert_many
  new_id pg_catalog.int8;
  queue_used pg_catalog.text;
  -- Asked within the insert: a statement of its own takes a hundredth of a call with its commit. The insert's snapshot will do:
  -- own_transaction comes first, so a worker that falls asleep later waits for the end of this transaction (fall_asleep.sql).
  may_have_sleeper pg_catalog.bool;
begin
  insert into dogged.tasks_live (queue, name, args, run_at, deferred, priority, trace_context, expires_at, tags, parent_id,
                                 args_version)
  select q.name, enqueue.name, enqueue.args, coalesce(enqueue.run_at, pg_catalog.now()),
         coalesce(enqueue.run_at operator(pg_catalog.>) pg_catalog.now(), false), coalesce(enqueue.priority, 0),
         enqueue.trace_context, enqueue.expires_at,
         case when pg_catalog.cardinality(enqueue.tags) operator(pg_catalog.>) 0 then enqueue.tags end, enqueue.parent_id,
         case when enqueue.args_version operator(pg_catalog.<>) 1 then enqueue.args_version end
    from dogged.queues q
   where q.name operator(pg_catalog.=) coalesce(enqueue.queue, (select d.queue from dogged.task_definitions d
                                                                 where d.name operator(pg_catalog.=) enqueue.name), 'default')
     and dogged.is_sound_task(enqueue.name, enqueue.run_at, enqueue.priority, enqueue.trace_context, enqueue.expires_at,
                              enqueue.tags, enqueue.parent_id, enqueue.args_version)
     and (select dogged.json_bytes(enqueue.args, s.max_args_bytes) operator(pg_catalog.<=) s.max_args_bytes
            from dogged.settings s)
     and (q.max_depth is null or dogged.has_room(q.name, q.max_depth, 1))
  returning id, queue, pg_catalog.current_setting('transaction_isolation') operator(pg_catalog.<>) 'read committed'
                       or exists (select from dogged.workers w where w.asleep and w.queues operator(pg_catalog.?) queue)
       into new_id, queue_used, may_have_sleeper;

  if new_id is null then
    perform dogged.refuse_task(
      enqueue.name, enqueue.args,
      coalesce(enqueue.queue, (select d.queue from dogged.task_definitions d
                                where d.name operator(pg_catalog.=) enqueue.name), 'default'),
      enqueue.run_at, coalesce(enqueue.priority, 0), enqueue.trace_context, enqueue.expires_at, enqueue.tags, enqueue.parent_id,
      enqueue.args_version);
  end if;

  if may_have_sleeper then
    if pg_catalog.current_setting('transaction_isolation') operator(pg_catalog.=) 'read committed' then
      perform pg_catalog.pg_notify('dogged.wake', queue_used);  -- as in insert_many
    else
      perform dogged.end_enqueue_of_old_snapshot(array[queue_used]);
    end if;
  end if;

  -- Does what note_call does, without the cost of entering another function.
  if enqueue.producer is not null and enqueue.call is not null then
    insert into dogged.producer_calls as last (producer, call, task_ids)
    values (enqueue.producer, enqueue.call, pg_catalog.int8multirange(pg_catalog.int8range(new_id, new_id, '[]')))
        on conflict on constraint producer_calls_pkey do update
       set call = excluded.call, task_ids = excluded.task_ids, answer = null, called_at = pg_catalog.now()
     where last.call operator(pg_catalog.<) excluded.call;
    if not found then perform dogged.refuse_call(enqueue.producer, enqueue.call); end if;
  elsif enqueue.producer is not null or enqueue.call is not null then
    perform dogged.refuse_call(enqueue.producer, enqueue.call);
  end if;
  return new_id;
end $$;
comment on function dogged.enqueue(text, jsonb, text, timestamptz, integer, text, timestamptz, text[], bigint, integer, uuid, bigint) is
  'Enqueues one task in the caller''s transaction and returns its id. queue: the queue that the task''s definition names, or '
  'default. run_at: at once. priority: lower runs first. expires_at: no attempt begins after this time; a task that is still '
  'pending then ends as expired. tags: words to find the task by, of A-Z a-z 0-9 . _ : / - with commas between them up to 512 '
  'bytes. parent_id: the task that this one belongs to; the parent may no longer exist. args_version: the version of the args in '
  'the task''s key; 1. producer, call: an idempotency key, by which a producer may repeat a call after its answer was lost. The '
  'producer counts its calls. Error 23505 says that this call, or a later one, is on record; dogged.call_made then gives the id. '
  'The record is removed when the producer has made no call for two days. Errors say what to change; nothing is enqueued then.';

-- Strict: PostgreSQL does not enter the function if a producer sends no parent.
create or replace function dogged.parent_here(parent_id bigint, installation uuid) returns bigint
language plpgsql stable strict security definer set search_path = pg_catalog, pg_temp as $$
begin
  return (select parent_here.parent_id from dogged.settings s where s.installation = parent_here.installation);
end $$;
comment on function dogged.parent_here(bigint, uuid) is
  'Internal: parent_id, as the parent of a task that is enqueued here, if the named installation is this one; else null.';

create or replace function dogged.create_queue(name text) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  perform dogged.require_queue_name(create_queue.name);
  -- Looks first, because an insert would wait for a transaction that has changed the queue's row and not committed.
  if not exists (select from dogged.queues q where q.name = create_queue.name) then
    insert into dogged.queues (name) values (create_queue.name) on conflict do nothing;
  end if;
end $$;
comment on function dogged.create_queue(text) is
  'Creates a queue, so that tasks can be enqueued to it. Does nothing if the queue exists.';

create or replace function dogged.prepare_task(name text, queue text default null) returns boolean
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  if prepare_task.queue is not null then perform dogged.create_queue(prepare_task.queue); end if;
  return exists (select from dogged.task_definitions d where d.name = prepare_task.name);
end $$;
comment on function dogged.prepare_task(text, text) is
  'For a producer, before it enqueues the first task of a name. Creates the queue that the task''s key names, unless the queue '
  'exists. Returns whether a worker has declared the task.';
