-- dogged.move_tasks(ids, queue) and dogged.move_queue(from_queue, to_queue) move waiting tasks to another queue. Dead
-- letters move as well, so that a later replay finds a queue that is served.

create or replace function dogged.require_queue(name text) returns void
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
begin
  perform dogged.require_queue_name(require_queue.name);
  if not exists (select from dogged.queues q where q.name = require_queue.name) then
    raise exception 'the queue "%" does not exist', require_queue.name
      using errcode = '22Q01',
            hint = coalesce('Nearest to it: ' || dogged.nearest_queues(require_queue.name) || '. ', '')
                   || 'A worker creates the queues of its tasks; dogged.create_queue(name) creates one now.';
  end if;
end $$;
comment on function dogged.require_queue(text) is 'Raises an error with the nearest names if the queue does not exist.';

create or replace function dogged.move_tasks(ids bigint[], queue text) returns table (id bigint, result text)
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
#variable_conflict use_column
declare
  moved bigint[];
begin
  perform dogged.require_queue(move_tasks.queue);
  perform pg_current_xact_id();  -- before a position is taken: see src/sql/claim/settle_watermarks.sql

  -- Waits for a running claim, promotion or completion, like dogged.cancel: the statements below see its result.
  perform from dogged.tasks_live t where t.id = any (ids) order by t.id for update;
  perform from dogged.tasks_failed f where f.id = any (ids) order by f.id for update;

  with old_live as (
    select t.id, t.queue, t.name from dogged.tasks_live t
     where t.id = any (ids) and t.status = 'pending' and t.queue <> move_tasks.queue
     order by t.id
  ), live as (
    -- Takes a new place, because workers of that queue may have passed over the old one (worker/claim/core/watermarks.hpp). So does a
    -- task that waits: has_room takes it that a queue grows by no more than the numbers that were drawn.
    update dogged.tasks_live t
       set queue = move_tasks.queue,
           ready_position = nextval('dogged.tasks_id_seq')
      from old_live o where t.id = o.id
    returning t.id, o.queue as from_queue, o.name
  ), old_dead as (
    select f.id, f.queue, f.name from dogged.tasks_failed f where f.id = any (ids) and f.queue <> move_tasks.queue
  ), dead as (
    update dogged.tasks_failed f set queue = move_tasks.queue
      from old_dead o where f.id = o.id
    returning f.id, o.queue as from_queue, o.name
  ), gone as (
    select l.* from live l union all select d.* from dead d
  ), audited as (
    insert into dogged.audit (actor, application, action, task_id, details)
    select dogged.audit_actor(), coalesce(current_setting('application_name', true), ''), 'move', g.id,
           jsonb_build_object('name', g.name, 'queue', move_tasks.queue, 'was', g.from_queue)
      from (select * from gone order by id) g
  )
  select array_agg(g.id) into moved from gone g;

  -- Has its own snapshot, as in enqueue_many.
  if moved is not null and current_setting('transaction_isolation') <> 'read committed' then
    perform dogged.end_enqueue_of_old_snapshot(array[move_tasks.queue]);
  elsif moved is not null and exists (select from dogged.workers w where w.asleep and w.queues ? move_tasks.queue) then
    perform pg_notify('dogged.wake', move_tasks.queue);
  end if;

  return query
    select a.id,
           case when a.id = any (moved) then 'moved'
                when t.queue = move_tasks.queue then 'there'
                when t.status = 'running' then 'running'
                when t.status is not null then 'ended'
                else 'not_found' end
      from (select distinct u.id from unnest(ids) as u (id) where u.id is not null) a
      left join dogged.tasks t on t.id = a.id
     order by a.id;
end $$;
comment on function dogged.move_tasks(bigint[], text) is
  'Moves pending tasks and dead letters to another queue in the caller''s transaction, and records this in dogged.audit. A ready '
  'task comes behind the tasks that are ready there. max_depth limits enqueue alone. Returns for each id: moved; there: the task '
  'is in that queue already; running: an attempt is under way, nothing has changed; ended: the task had ended before; not_found: '
  'no such task exists, or no longer.';

create or replace function dogged.move_queue(from_queue text, to_queue text, name text default null, most integer default null)
returns bigint
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
#variable_conflict use_column
declare
  ids bigint[];
begin
  perform dogged.require_queue(from_queue);
  perform dogged.require_queue(to_queue);
  if from_queue = to_queue then
    raise exception 'the queue "%" is both where tasks are to be moved from and to', from_queue
      using errcode = 'invalid_parameter_value', hint = 'Name two queues. Nothing was moved.';
  elsif most < 1 then
    raise exception 'most is %; it must be 1 or more', most
      using errcode = 'invalid_parameter_value', hint = 'Leave it out to move all. Nothing was moved.';
  end if;
  -- Rows that another transaction is changing are skipped without waiting.
  with live as (
    select t.id from dogged.tasks_live t
     where t.queue = from_queue and t.status = 'pending' and (move_queue.name is null or t.name = move_queue.name)
     order by t.id limit most for update skip locked
  ), dead as (
    select f.id from dogged.tasks_failed f
     where f.queue = from_queue and (move_queue.name is null or f.name = move_queue.name)
     order by f.id limit most for update skip locked
  )
  select array_agg(found.id) into ids
    from (select l.id from live l union all select d.id from dead d order by id limit most) found;
  return (select count(*) from dogged.move_tasks(ids, to_queue) m where m.result = 'moved');
end $$;
comment on function dogged.move_queue(text, text, text, integer) is
  'Moves the pending tasks and the dead letters of a queue to another queue, like dogged.move_tasks, and returns their number. '
  'name: only tasks of this name; most: at most this many, those with the lowest ids. Locked tasks are skipped. Running tasks '
  'stay, and their retries return to the old queue.';
