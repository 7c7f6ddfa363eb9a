-- Functions for `dogged dead`. The functions match dead letters against a filter, classify error messages, and tell why
-- tasks were not taken. Others export dead letters as lines of a file, and import such lines.
-- Bodies in SQL-standard form are bound when they are created, so that no search_path can change them, and are inlined.

-- A null filter matches everything. Once inlined, each condition uses its index, and the conditions of null filters
-- vanish. The parameters are columns, not a row, because a viewer has no right on the args.
create or replace function dogged.dead_letter_matches(
  letter_id bigint, letter_name text, letter_queue text, letter_code text, letter_message text, failed_at timestamptz,
  letter_tags text[],
  name text, queue text, error_code text, message text, failed_after timestamptz, failed_before timestamptz, ids bigint[],
  tags text[])
returns boolean
language sql immutable parallel safe return
  (name is null or letter_name = name)
  and (queue is null or letter_queue = queue)
  and (error_code is null or letter_code = error_code)
  and (message is null or letter_message ~ message)
  and (failed_after is null or failed_at >= failed_after)
  and (failed_before is null or failed_at < failed_before)
  and (ids is null or letter_id = any (ids))
  and (tags is null or letter_tags @> tags);
comment on function dogged.dead_letter_matches(bigint, text, text, text, text, timestamptz, text[], text, text, text, text,
                                               timestamptz, timestamptz, bigint[], text[]) is
  'Internal: whether a dead letter matches the filter of `dogged dead`; a null filter matches all. message: a regular expression '
  'of PostgreSQL; failed_after is included, failed_before is not.';

-- Links are replaced first, because they hold numbers; then quoted text; then every word with a digit, such as UUIDs,
-- hexadecimal numbers, times and addresses. Only the beginning counts, so that a long trace costs no more than a
-- message.
create or replace function dogged.error_fingerprint(message text) returns text
language sql immutable parallel safe return
  regexp_replace(
    regexp_replace(
      regexp_replace(left(message, 300), '[[:alpha:]][[:alnum:]+.-]*://[^[:space:]"''`<>)]+', '<url>', 'g'),
      '"[^"]*"|`[^`]*`|(?<![[:alnum:]_])''[^'']*''', '<text>', 'g'),
    '[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F-]{17,}|\w*\d[\w.:-]*\w|\d', '<n>', 'g');
comment on function dogged.error_fingerprint(text) is
  'The first 300 characters of an error message, without the parts that differ from one failure to the next. <url>, <text> (quoted '
  'text) and <n> (numbers, ids, times) replace these parts. Messages of one kind have the same fingerprint.';

-- Reads in the caller's next snapshot, which shows the current state of tasks that the caller waited for or skipped.
create or replace function dogged.dead_letter_standing(ids bigint[], attempts integer[])
returns table (id bigint, result text)
language sql stable begin atomic
  select a.id,
         case when t.id is null then 'not_found'
              when t.status <> 'failed' then 'not_failed'
              when t.attempt <> a.attempt then 'changed'
              else 'locked' end
    from unnest(dead_letter_standing.ids, dead_letter_standing.attempts) as a (id, attempt)
    left join (select s.id, s.status, s.attempt from dogged.tasks s where s.id = any (dead_letter_standing.ids)) t
      on t.id = a.id;
end;
comment on function dogged.dead_letter_standing(bigint[], integer[]) is
  'Why tasks were not taken as dead letters. not_found; not_failed: the task has another status; changed: the task was replayed '
  'and has failed again, in another attempt than the named one; locked: another transaction is changing the task.';

-- Times are in UTC. Args are not redacted, because an import must restore them.
create or replace function dogged.export_dead_letters(ids bigint[], attempts integer[] default null)
returns table (id bigint, attempt integer, letter text)
language sql stable set search_path = pg_catalog, pg_temp set timezone = 'UTC' as $$
  select f.id, f.attempt, row_to_json(letter)::text
    from unnest(export_dead_letters.ids, export_dead_letters.attempts) as a (id, attempt)
    join (select * from dogged.tasks_failed where id = any (export_dead_letters.ids)) f
      on f.id = a.id and f.attempt = coalesce(a.attempt, f.attempt)
   cross join lateral (
     select f.id, f.name, f.queue, f.priority, f.args, f.enqueued_at, f.run_at, f.claimed_at, f.finished_at as failed_at,
            f.attempt as attempts, f.retry_count, f.losses, coalesce(f.snoozes, 0) as snoozes, f.error_code, f.error_message,
            (select h.error_details from dogged.task_attempts h where h.task_id = f.id and h.attempt = f.attempt
              limit 1) as error_details,
            f.trace_context, coalesce(f.tags, '{}') as tags, f.parent_id, f.args_version, f.unique_key,
            -- json_agg would break lines.
            array_to_json(array(select row_to_json(h) from (
                        select h.attempt, h.outcome, h.worker_id, w.name as worker, h.claimed_at, h.started_at, h.finished_at,
                               h.error_code, h.error_message, h.error_details, h.will_retry, h.next_retry_at, h.policy,
                               h.backoff_ms, h.delay_ms, h.retry_after_ms, h.trace_context
                          from dogged.task_attempts h left join dogged.workers w on w.id = h.worker_id
                         where h.task_id = f.id and h.attempt <= f.attempt
                         order by h.attempt) h)) as history) letter
   order by f.id
$$;
comment on function dogged.export_dead_letters(bigint[], integer[]) is
  'Each of the dead letters as a JSON text with its attempts, and without its steps and checkpoints. The args are not redacted. '
  'dogged.import_dead_letters takes these texts. attempts: only dead letters that failed in that attempt.';

create or replace function dogged.tags_of_letter(letter jsonb) returns text[]
language sql immutable return
  case when jsonb_typeof(letter -> 'tags') = 'array'
       then nullif(array(select jsonb_array_elements_text(letter -> 'tags')), '{}') end;
comment on function dogged.tags_of_letter(jsonb) is 'Internal: the tags of a dead letter that is to be imported; null: none.';

create or replace function dogged.refuse_dead_letter(letter jsonb) returns void
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
declare
  known constant text[] := '{id,name,queue,priority,args,enqueued_at,run_at,claimed_at,failed_at,attempts,retry_count,losses,snoozes,'
                           'error_code,error_message,error_details,trace_context,tags,parent_id,args_version,unique_key,history}';
  needed constant text[] := '{id,name,queue,args,enqueued_at,failed_at,attempts}';
  max_args_bytes constant integer := (select s.max_args_bytes from dogged.settings s);
  key text;
  code text;
  mistake text;
begin
  if jsonb_typeof(letter) is distinct from 'object' then
    raise exception 'a dead letter is a JSON object, and this is %', coalesce(jsonb_typeof(letter), 'null')
      using hint = 'Lines are as `dogged dead export` writes them.', errcode = 'invalid_parameter_value';
  end if;
  select k into key from jsonb_object_keys(letter) k where k <> all (known) limit 1;
  if found then
    mistake := format('"%s" is no member of a dead letter', left(key, 60));
  end if;
  select k into key from unnest(needed) k
   where letter -> k is null or (jsonb_typeof(letter -> k) = 'null' and k <> 'args') limit 1;
  if found then
    mistake := format('the member "%s" is missing', key);
  elsif (letter ->> 'id')::bigint not between 1 and 35184372088832 then
    mistake := format('id is %s; ids are from 1 to 35184372088832 (2^45)', letter ->> 'id');
  elsif letter ->> 'name' !~ '^[A-Za-z0-9][A-Za-z0-9._:/-]*$' or octet_length(letter ->> 'name') > 128 then
    mistake := format('name "%s" is not 1 to 128 of A-Z a-z 0-9 . _ : / - beginning with a letter or a digit',
                      left(letter ->> 'name', 128));
  elsif (dogged.json_bytes(letter -> 'args', max_args_bytes) <= max_args_bytes) is not true then
    mistake := format('args has %s bytes as JSON; the limit is %s (dogged.settings.max_args_bytes)',
                      coalesce(dogged.json_bytes(letter -> 'args', max_args_bytes)::text, 'many more'), max_args_bytes);
  elsif (letter ->> 'attempts')::bigint not between 1 and 1000000 then
    mistake := format('attempts is %s; a dead letter has 1 to 1000000', letter ->> 'attempts');
  elsif least((letter ->> 'retry_count')::integer, (letter ->> 'losses')::integer, (letter ->> 'snoozes')::integer) < 0 then
    mistake := 'retry_count, losses or snoozes is negative';
  elsif not isfinite((letter ->> 'failed_at')::timestamptz) or (letter ->> 'failed_at')::timestamptz > now() + interval '5 minutes'
        or not isfinite((letter ->> 'enqueued_at')::timestamptz) then
    mistake := format('failed_at %s, enqueued_at %s: not times of the past', letter ->> 'failed_at', letter ->> 'enqueued_at');
  elsif octet_length(letter ->> 'trace_context') > 512 then
    mistake := format('trace_context has %s bytes; the limit is 512', octet_length(letter ->> 'trace_context'));
  elsif jsonb_typeof(letter -> 'tags') not in ('array', 'null') then
    mistake := 'tags is not an array';
  elsif not dogged.are_sound_tags(dogged.tags_of_letter(letter)) then
    mistake := dogged.mistake_in_tags(dogged.tags_of_letter(letter));
  elsif (letter ->> 'parent_id')::bigint <= 0 then
    mistake := format('parent_id is %s; ids of tasks are positive', letter ->> 'parent_id');
  elsif (letter ->> 'args_version')::bigint not between 1 and 32767 then
    mistake := format('args_version is %s; versions are from 1 to 32767', letter ->> 'args_version');
  elsif octet_length(letter ->> 'unique_key') not between 1 and 512 then
    mistake := format('unique_key has %s bytes; it has 1 to 512', octet_length(letter ->> 'unique_key'));
  elsif letter ? 'history' and jsonb_typeof(letter -> 'history') <> 'array' then
    mistake := 'history is not an array';
  else
    select e.code into code
      from (select letter ->> 'error_code'
             union all
            select h ->> 'error_code' from jsonb_array_elements(coalesce(letter -> 'history', '[]')) h) e (code)
     where e.code !~ '^[A-Z][A-Z0-9_]{0,63}$' limit 1;
    if found then
      mistake := format('error_code "%s" is not 1 to 64 of A-Z 0-9 _ beginning with a letter', left(code, 64));
    end if;
  end if;
  if mistake is not null then
    raise exception using message = mistake, hint = 'Lines are as `dogged dead export` writes them.',
                          errcode = 'invalid_parameter_value';
  end if;
end $$;
comment on function dogged.refuse_dead_letter(jsonb) is
  'Raises an error that names the mistake in a dead letter to be imported, if there is one.';

create or replace function dogged.import_dead_letters(letters jsonb[])
returns table (place bigint, id bigint, result text)
-- jit: to compile the statement took a second for 200 dead letters, and to run it a tenth of a second.
language plpgsql security definer set search_path = pg_catalog, pg_temp set jit = off as $$
#variable_conflict use_column
declare
  highest_id bigint;
  free_ids bigint[];
begin
  -- One import at a time: two imports could both find the same id free.
  perform from dogged.locks l where l.name = 'import' for update;
  perform dogged.refuse_dead_letter(l) from unnest(letters) l;

  -- New tasks must get ids above those of imported tasks. The gap is large, because other sessions draw ids meanwhile.
  select max((l ->> 'id')::bigint) into highest_id from unnest(letters) l;
  perform setval('dogged.tasks_id_seq', highest_id + 1000000) from dogged.tasks_id_seq s where s.last_value <= highest_id;

  -- An enqueue may have taken one of the ids without having committed: the primary key makes this insert wait for that
  -- enqueue. Later enqueues take new ids.
  with placeholder as (
    insert into dogged.tasks_live (id, queue, name, args)
    select distinct (l ->> 'id')::bigint, 'default', 'imported', '{}'::jsonb from unnest(letters) l order by 1
        on conflict (id) do nothing returning id
  )
  select array_agg(p.id) into free_ids from placeholder p;
  delete from dogged.tasks_live t where t.id = any (free_ids);

  return query
    with given as materialized (
      select l.place, l.letter, (l.letter ->> 'id')::bigint as id, l.letter ->> 'name' as name, l.letter ->> 'queue' as queue,
             (l.letter ->> 'attempts')::integer as attempts,
             ((l.letter ->> 'failed_at')::timestamptz at time zone 'UTC')::date as failed_on
        from unnest(letters) with ordinality as l (letter, place)
    ), judged as materialized (
      select g.*,
             case when exists (select from dogged.tasks t where t.id = g.id)
                    or row_number() over (partition by g.id order by g.place) > 1
                    -- Attempts of another task that had this id.
                    or exists (select from dogged.task_attempts h
                                where h.task_id = g.id and (h.name <> g.name or h.attempt > g.attempts)) then 'id_taken'
                  when not exists (select from dogged.queues q where q.name = g.queue) then 'no_queue'
                  when g.failed_on + 1 + greatest(s.keep_failed_days, (select q.keep_failed_days from dogged.queues q where q.name = g.queue))
                       <= (clock_timestamp() at time zone 'UTC')::date then 'too_old'
                  else 'imported' end as result
        from given g cross join dogged.settings s
    ), inserted as (
      insert into dogged.tasks (id, status, queue, name, priority, args, enqueued_at, run_at, attempt, retry_count, losses,
                                snoozes, claimed_at, finished_at, error_code, error_message, trace_context, tags, parent_id,
                                args_version, unique_key)
      select j.id, 'failed', j.queue, j.name, coalesce((l ->> 'priority')::smallint, 0), l -> 'args',
             (l ->> 'enqueued_at')::timestamptz, coalesce(l ->> 'run_at', l ->> 'enqueued_at')::timestamptz, j.attempts,
             coalesce((l ->> 'retry_count')::integer, 0), coalesce((l ->> 'losses')::integer, 0),
             nullif((l ->> 'snoozes')::integer, 0), (l ->> 'claimed_at')::timestamptz, (l ->> 'failed_at')::timestamptz, l ->> 'error_code', l ->> 'error_message',
             l ->> 'trace_context', dogged.tags_of_letter(l), (l ->> 'parent_id')::bigint,
             nullif((l ->> 'args_version')::smallint, 1), l ->> 'unique_key'
        from judged j cross join lateral (select j.letter as l) as letter
       where j.result = 'imported'
    ), remembered as (
      -- A worker of another database is not the worker that has the same id here.
      insert into dogged.task_attempts (task_id, attempt, name, queue, outcome, worker_id, claimed_at, started_at, finished_at,
                                        error_code, error_message, error_details, will_retry, next_retry_at, policy,
                                        backoff_ms, delay_ms, retry_after_ms, trace_context)
      select j.id, h.attempt, j.name, j.queue, h.outcome,
             coalesce((select w.id from dogged.workers w where w.id = h.worker_id and w.name = h.worker), 0), h.claimed_at,
             h.started_at, h.finished_at, h.error_code, h.error_message, h.error_details, h.will_retry, h.next_retry_at,
             h.policy, h.backoff_ms, h.delay_ms, h.retry_after_ms, h.trace_context
        from judged j
       cross join lateral jsonb_to_recordset(coalesce(j.letter -> 'history', '[]')) as h (
               attempt integer, outcome dogged.attempt_outcome, worker_id bigint, worker text, claimed_at timestamptz,
               started_at timestamptz, finished_at timestamptz, error_code text, error_message text, error_details jsonb,
               will_retry boolean, next_retry_at timestamptz, policy text, backoff_ms bigint, delay_ms bigint,
               retry_after_ms bigint, trace_context text)
       where j.result = 'imported' and h.attempt between 1 and j.attempts
         and not exists (select from dogged.task_attempts o where o.task_id = j.id and o.attempt = h.attempt)
    ), audited as (
      insert into dogged.audit (actor, application, action, task_id, details)
      select dogged.audit_actor(), coalesce(current_setting('application_name', true), ''), 'import', j.id,
             jsonb_build_object('error_code', j.letter -> 'error_code', 'failed_at', j.letter -> 'failed_at')
        from judged j where j.result = 'imported'
    )
    select j.place, j.id, j.result from judged j order by j.place;
end $$;
comment on function dogged.import_dead_letters(jsonb[]) is
  'Imports dead letters that export_dead_letters wrote, under their ids, in the caller''s transaction. Returns for each, by its '
  'place: imported; id_taken: a task has that id, or another task had it; no_queue; too_old: settings.keep_failed_days, or the '
  'queue''s own, are over. Raises 22023 for a text that is no dead letter.';
