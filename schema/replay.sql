-- dogged.replay(id) and dogged.replay_many(ids) make dead letters pending again. The tasks keep their id and history,
-- and have all of their retries again.
--
-- The attempt number goes on, so that a late report of a worker on an earlier attempt is still fenced.

create or replace function dogged.other_holder(name text, unique_key text, id bigint) returns bigint
language sql stable begin atomic
  select k.task_id
    from dogged.unique_keys k join dogged.tasks_live t on t.id = k.task_id
   where k.name = other_holder.name and k.unique_key = other_holder.unique_key and k.task_id <> other_holder.id;
end;
comment on function dogged.other_holder(text, text, bigint) is
  'Internal: the task that has not ended and took this unique key last, if it is not the task id.';

create or replace function dogged.merge_dead_letters(ids bigint[], attempts integer[]) returns bigint[]
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  merged bigint[];
begin
  with held as materialized (
    select f.id, dogged.other_holder(f.name, f.unique_key, f.id) as holder
      from dogged.tasks_failed f
      join unnest(merge_dead_letters.ids, merge_dead_letters.attempts) as a (id, attempt) on a.id = f.id
     where f.id = any (merge_dead_letters.ids) and f.attempt = coalesce(a.attempt, f.attempt)
       and dogged.other_holder(f.name, f.unique_key, f.id) is not null
     order by f.id
       for update of f skip locked
  ), discarded as (
    update dogged.tasks t set status = 'discarded' where t.status = 'failed' and t.id = any (array(select h.id from held h))
    returning t.id
  ), audited as (
    insert into dogged.audit (actor, application, action, task_id, details)
    select dogged.audit_actor(), coalesce(current_setting('application_name', true), ''), 'merge', h.id,
           jsonb_build_object('into', h.holder)
      from held h join discarded d on d.id = h.id
  )
  select array_agg(d.id) into merged from discarded d;
  return merged;
end $$;
comment on function dogged.merge_dead_letters(bigint[], integer[]) is
  'Internal: ends dead letters as discarded whose unique key another task holds; returns their ids.';

create or replace function dogged.replay_many(
  ids bigint[], run_at timestamptz default null, per_second double precision default null, args jsonb[] default null,
  attempts integer[] default null, steps text default 'keep', merge boolean default false)
returns table (id bigint, result text, due_at timestamptz)
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
#variable_conflict use_column
declare
  max_args_bytes constant integer := (select s.max_args_bytes from dogged.settings s);
  first_due constant timestamptz := greatest(replay_many.run_at, now());
  replayed bigint[];
  dues timestamptz[];
  queues_used text[];
  merged bigint[];
begin
  if cardinality(replay_many.args) <> cardinality(ids) or cardinality(attempts) <> cardinality(ids) then
    raise exception 'there are % ids, % args and % attempts; give one of each for a task, or null', cardinality(ids),
      coalesce(cardinality(replay_many.args)::text, 'no'), coalesce(cardinality(attempts)::text, 'no')
      using hint = 'Nothing was replayed.', errcode = 'invalid_parameter_value';
  elsif (steps in ('keep', 'again')) is not true then
    raise exception 'steps is %; it is keep or again', coalesce(quote_literal(steps), 'null')
      using hint = 'Nothing was replayed.', errcode = 'invalid_parameter_value';
  elsif not isfinite(first_due) or first_due > now() + interval '10 years' then
    raise exception 'run_at % is more than 10 years ahead', replay_many.run_at
      using hint = 'Leave run_at out to run at once. Nothing was replayed.', errcode = 'invalid_parameter_value';
  elsif not (per_second > 0 and per_second <= 1000000) then
    raise exception 'per_second is %; it is more than 0 and at most 1000000', per_second
      using hint = 'Nothing was replayed.', errcode = 'invalid_parameter_value';
  end if;

  perform pg_current_xact_id();  -- before a position is taken: see src/sql/claim/settle_watermarks.sql
  perform dogged.end_expired(array(
    select t.id
      from dogged.tasks_failed f
      join dogged.unique_keys k on k.name = f.name and k.unique_key = f.unique_key
      join dogged.tasks_live t on t.id = k.task_id and t.status = 'pending' and t.expires_at <= now()
     where f.id = any (replay_many.ids)
     order by t.id
       for update of t skip locked));
  if merge then merged := dogged.merge_dead_letters(ids, attempts); end if;
  -- Locks rows in the order of ids. Rows that another transaction is changing are skipped without waiting. A dead letter
  -- with a unique key waits for an enqueue of that key that is under way.
  with asked as materialized (
    select distinct on (a.id) a.id, a.args, a.attempt
      from unnest(ids, replay_many.args, attempts) with ordinality as a (id, args, attempt, position)
     where a.id is not null
     order by a.id, a.position
  ), taken as materialized (
    select f.id, f.finished_at, a.args as new_args, f.name, f.unique_key, last.task_id as last_holder, last.taken_at as last_taken_at
      from dogged.tasks_failed f join asked a on a.id = f.id
      left join dogged.unique_keys last on last.name = f.name and last.unique_key = f.unique_key
     where f.id = any (ids) and f.attempt = coalesce(a.attempt, f.attempt)
       and (a.args is null or dogged.json_bytes(a.args, max_args_bytes) <= max_args_bytes)
       and (f.unique_key is null or dogged.other_holder(f.name, f.unique_key, f.id) is null)
     order by f.id
       for update of f skip locked
  ), keyed as (
    -- Another transaction may have given the key to a task meanwhile. Then this dead letter stays. A replay may have given the key to
    -- the task that held it last; taken_at tells. Keys without a row come first, and each part is in the order of "C", as
    -- in enqueue_many_unique. In another order the two would wait for each other.
    insert into dogged.unique_keys as k (name, unique_key, task_id, held_while)
    select o.name, o.unique_key, o.id, 'live'
      from (select distinct on (t.name collate "C", t.unique_key collate "C") t.name, t.unique_key, t.id, t.last_holder
              from taken t where t.unique_key is not null
             order by t.name collate "C", t.unique_key collate "C", t.id) o
     order by o.last_holder is not null, o.name collate "C", o.unique_key collate "C"
        on conflict on constraint unique_keys_pkey do update
       set task_id = excluded.task_id, taken_at = now(), held_until = now() + (k.held_until - k.taken_at)
     where (k.task_id, k.taken_at) in (select t.last_holder, t.last_taken_at from taken t)
    returning k.task_id
  ), removed as (
    delete from dogged.tasks_failed f
     where f.id = any (array(select t.id from taken t where t.unique_key is null union all select k.task_id from keyed k))
    returning f.*
  ), due as (
    select r.*, t.new_args,
           coalesce(first_due + (row_number() over (order by r.id) - 1) / per_second * interval '1 second', first_due) as due_at
      from removed r join taken t on t.id = r.id
  ), inserted as (
    -- error_code and error_message keep the values of the last failed attempt. The due time is in next_retry_at,
    -- because run_at belongs to the first run.
    insert into dogged.tasks_live (id, status, queue, name, priority, args, enqueued_at, run_at, deferred, next_retry_at, attempt,
                                   worker_id, claimed_at, error_code, error_message, trace_context, tags,
                                   parent_id, args_version, unique_key, ready_position)
    select d.id, 'pending', d.queue, d.name, d.priority, coalesce(d.new_args, d.args), d.enqueued_at, d.run_at,
           d.due_at > now(), d.due_at, d.attempt, d.worker_id, d.claimed_at, d.error_code, d.error_message, d.trace_context, d.tags,
           d.parent_id, d.args_version, d.unique_key, nextval('dogged.tasks_id_seq')
      from (select * from due order by id) d
  ), steps_again as (
    -- The task runs from its beginning: the steps of its attempts so far do not count any more.
    insert into dogged.task_steps (task_id, attempt, task_name, started_at, finished_at)
    select d.id, d.attempt, d.name, clock_timestamp(), greatest(d.enqueued_at, clock_timestamp())
      from due d
     where replay_many.steps = 'again'
  ), audited as (
    insert into dogged.audit (actor, application, action, task_id, details)
    select dogged.audit_actor(), coalesce(current_setting('application_name', true), ''), 'replay', d.id,
           jsonb_build_object('attempts', d.attempt, 'retry_count', d.retry_count, 'losses', d.losses, 'error_code', d.error_code,
                              'failed_at', d.finished_at, 'due_at', d.due_at)
             || case when d.new_args is null then '{}' else jsonb_build_object('args', d.args) end
      from (select * from due order by id) d
  )
  select array_agg(d.id), array_agg(d.due_at), array_agg(distinct d.queue) into replayed, dues, queues_used from due d;

  if merge then merged := merged || dogged.merge_dead_letters(ids, attempts); end if;  -- twins among the ids
  -- Has its own snapshot, as in enqueue_many.
  if replayed is not null
     and (current_setting('transaction_isolation') <> 'read committed'
          or exists (select from dogged.workers w where w.asleep and w.queues ?| queues_used)) then
    perform pg_notify('dogged.wake', case when cardinality(queues_used) = 1 then queues_used[1] else '' end);
  end if;

  return query
    with asked as (
      select distinct on (a.id) a.id, a.args, a.attempt
        from unnest(ids, replay_many.args, attempts) with ordinality as a (id, args, attempt, position)
       where a.id is not null
       order by a.id, a.position
    ), done as (
      select d.id, d.due_at from unnest(replayed, dues) as d (id, due_at)
    ), rest as (
      select array_agg(a.id) as ids, array_agg(a.attempt) as attempts
        from asked a where not exists (select from done d where d.id = a.id)
    ), stands as (
      select s.id, case when s.result = 'locked' and a.args is not null
                             and (dogged.json_bytes(a.args, max_args_bytes) <= max_args_bytes) is not true then 'args_too_large'
                        when s.id = any (merged) then 'merged'
                        when s.result = 'locked' and exists (
                               select from dogged.tasks_failed f
                                where f.id = s.id and dogged.other_holder(f.name, f.unique_key, f.id) is not null) then 'key_held'
                        else s.result end as result
        from rest r
       cross join lateral dogged.dead_letter_standing(r.ids, r.attempts) s
        join asked a on a.id = s.id
    )
    select o.id, o.result, o.due_at
      from (select d.id, 'replayed' as result, d.due_at from done d
            union all
            select s.id, s.result, null from stands s) o
     order by o.id;
end $$;
comment on function dogged.replay_many(bigint[], timestamptz, double precision, jsonb[], integer[], text, boolean) is
  'Makes dead letters pending again in the caller''s transaction, and skips dead letters that another transaction is changing. '
  'run_at: no task is due before this time; per_second: from then on at most this many fall due in a second; args: new args by '
  'position, null where they stay; attempts: only dead letters that failed in that attempt; steps: keep, those on record run no '
  'more, or again, all run again; merge: a dead letter whose unique key another task holds that has not ended becomes discarded, '
  'because that task stands for it. Returns for each id: replayed, with the due time; merged; key_held: another task holds its '
  'unique key; args_too_large; or the answer of dogged.dead_letter_standing.';

create or replace function dogged.replay(id bigint, run_at timestamptz default null, args jsonb default null,
                                         steps text default 'keep', merge boolean default false) returns text
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  max_args_bytes constant integer := (select s.max_args_bytes from dogged.settings s);
  answer text;
begin
  if replay.id is null then
    raise exception 'the id of the task to replay is null'
      using hint = 'Give the id of a dead letter. Nothing was replayed.', errcode = 'invalid_parameter_value';
  end if;
  loop
    -- Waits for a transaction that is changing the row. Each statement has its own snapshot, which shows the result of
    -- that transaction.
    perform from dogged.tasks_failed f where f.id = replay.id for update;
    select r.result into answer
      from dogged.replay_many(array[replay.id], replay.run_at, null,
                              case when replay.args is not null then array[replay.args] end, null, replay.steps, replay.merge) r;
    exit when answer <> 'locked';
  end loop;
  if answer = 'args_too_large' then
    raise exception 'task %: the new args have % bytes as JSON; the limit is %', replay.id,
      coalesce(dogged.json_bytes(replay.args, max_args_bytes)::text, 'many more'), max_args_bytes
      using hint = 'Keep large data elsewhere and pass a reference. Nothing was replayed.', errcode = 'invalid_parameter_value';
  end if;
  return answer;
end $$;
comment on function dogged.replay(bigint, timestamptz, jsonb, text, boolean) is
  'Replays a dead letter in the caller''s transaction. The task keeps its id and its attempts, and has all of its retries again. '
  'run_at: at once. args: as they are. steps: keep, those on record run no more, or again, all run again. Returns replayed; '
  'key_held: another task that has not ended holds its unique key, and with merge merged: the dead letter is now discarded; '
  'not_failed: the task is no dead letter, or no longer one; not_found: no such task exists, or no longer.';
