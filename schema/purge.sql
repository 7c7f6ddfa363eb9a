-- dogged.purge(id) and dogged.purge_many(ids) delete dead letters. Their attempts are history, and retention drops them
-- with their day.

create or replace function dogged.purge_many(ids bigint[], attempts integer[] default null) returns table (id bigint, result text)
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
#variable_conflict use_column
declare
  purged bigint[];
begin
  if cardinality(attempts) <> cardinality(ids) then
    raise exception 'there are % ids and % attempts; give one of each for a task, or no attempts', cardinality(ids),
      cardinality(attempts) using hint = 'Nothing was purged.', errcode = 'invalid_parameter_value';
  end if;

  with taken as materialized (
    select f.id
      from dogged.tasks_failed f
      join (select distinct on (a.id) a.id, a.attempt from unnest(ids, attempts) as a (id, attempt)) a on a.id = f.id
     where f.id = any (ids) and f.attempt = coalesce(a.attempt, f.attempt)
     order by f.id
       for update of f skip locked
  ), removed as (
    delete from dogged.tasks_failed f where f.id = any (array(select t.id from taken t)) returning f.*
  ), audited as (
    insert into dogged.audit (actor, application, action, task_id, details)
    select dogged.audit_actor(), coalesce(current_setting('application_name', true), ''), 'purge', r.id,
           jsonb_build_object('name', r.name, 'queue', r.queue, 'attempts', r.attempt, 'error_code', r.error_code,
                              'failed_at', r.finished_at)
      from (select * from removed order by id) r
  )
  select array_agg(r.id) into purged from removed r;

  return query
    with asked as (
      select distinct on (a.id) a.id, a.attempt from unnest(ids, attempts) as a (id, attempt) where a.id is not null
    ), rest as (
      select array_agg(a.id) as ids, array_agg(a.attempt) as attempts
        from asked a where not exists (select from unnest(purged) as p (id) where p.id = a.id)
    )
    select o.id, o.result
      from (select p.id, 'purged' as result from unnest(purged) as p (id)
            union all
            select s.id, s.result from rest r cross join lateral dogged.dead_letter_standing(r.ids, r.attempts) s) o
     order by o.id;
end $$;
comment on function dogged.purge_many(bigint[], integer[]) is
  'Deletes dead letters in the caller''s transaction, and skips dead letters that another transaction is changing. attempts: only '
  'dead letters that failed in that attempt. Returns for each id: purged, or the answer of dogged.dead_letter_standing.';

create or replace function dogged.purge(id bigint) returns text
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  answer text;
begin
  if purge.id is null then
    raise exception 'the id of the task to purge is null'
      using hint = 'Give the id of a dead letter. Nothing was purged.', errcode = 'invalid_parameter_value';
  end if;
  loop
    perform from dogged.tasks_failed f where f.id = purge.id for update;  -- as in replay
    select p.result into answer from dogged.purge_many(array[purge.id]) p;
    exit when answer <> 'locked';
  end loop;
  return answer;
end $$;
comment on function dogged.purge(bigint) is
  'Deletes a dead letter in the caller''s transaction. Returns purged; not_failed: the task is no dead letter, or no longer one; '
  'not_found: no such task exists, or no longer.';
