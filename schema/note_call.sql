-- Functions for the idempotency keys of producers (producer_calls). Producers have no right on that table, so these
-- functions run as the owner. Like dogged.enqueue, note_call qualifies names instead of setting a search_path.

create or replace function dogged.refuse_call(producer uuid, call bigint) returns void
language plpgsql immutable set search_path = pg_catalog, pg_temp as $$
begin
  if refuse_call.producer is null or refuse_call.call is null then
    raise exception 'an idempotency key is a producer and a call, and % is null',
      case when refuse_call.producer is null then 'producer' else 'call' end
      using hint = 'Nothing was done. Give both, or neither.', errcode = 'invalid_parameter_value';
  end if;
  raise exception 'call % of producer % was made before, or a later one', refuse_call.call, refuse_call.producer
    using hint = 'Nothing was done now. What its last call has enqueued, dogged.call_made(producer, call) tells.',
          errcode = 'unique_violation';
end $$;
comment on function dogged.refuse_call(uuid, bigint) is
  'Internal: raises the error of a call that was made before (23505), or of half a key (22023).';

-- `on conflict` uses the key, whatever the planner estimates for so small a table. A scan of the whole table would make
-- serializable transactions of different clients fail because of each other.
create or replace function dogged.note_call(producer uuid, call bigint, task_ids bigint[], answer text default null)
returns int8multirange
language plpgsql security definer as $$
declare
  how_many constant pg_catalog.int4 := pg_catalog.cardinality(note_call.task_ids);
  ids pg_catalog.int8multirange := '{}';
begin
  -- The ids ascend. If no other transaction drew an id meanwhile, the first and the last id describe the range.
  if note_call.task_ids[how_many] operator(pg_catalog.-) note_call.task_ids[1] operator(pg_catalog.+) 1
     operator(pg_catalog.=) how_many then
    ids := pg_catalog.int8multirange(pg_catalog.int8range(note_call.task_ids[1], note_call.task_ids[how_many], '[]'));
  elsif how_many operator(pg_catalog.>) 0 then
    ids := (select pg_catalog.range_agg(pg_catalog.int8range(id, id, '[]')) from pg_catalog.unnest(note_call.task_ids) as given (id));
  end if;
  if note_call.producer is null then return ids; end if;

  insert into dogged.producer_calls as last (producer, call, task_ids, answer)
  values (note_call.producer, note_call.call, ids, note_call.answer)
      on conflict on constraint producer_calls_pkey do update
     set call = excluded.call, task_ids = excluded.task_ids, answer = excluded.answer, called_at = pg_catalog.now()
   where last.call operator(pg_catalog.<) excluded.call;
  if not found then perform dogged.refuse_call(note_call.producer, note_call.call); end if;
  return ids;
end $$;
comment on function dogged.note_call(uuid, bigint, bigint[], text) is
  'Internal: records the tasks that a producer''s call enqueued, or its answer, in the transaction of that call, and returns the '
  'ids. Raises an error if that call, or a later one, is on record, so that a repeated call does not take effect twice. Without a '
  'producer nothing is recorded. task_ids: in the order in which the ids were given out.';

create or replace function dogged.reserve_producer(producer uuid) returns void
language sql volatile security definer begin atomic
  insert into dogged.producer_calls (producer, call, task_ids) values (reserve_producer.producer, 0, '{}') on conflict do nothing;
end;
comment on function dogged.reserve_producer(uuid) is
  'Ensures that a producer has a row to lock. Waits for a first call that is still running.';

create or replace function dogged.call_made(producer uuid, call bigint) returns int8multirange
language sql volatile security definer begin atomic
  with last as materialized (
    select c.call, c.task_ids from dogged.producer_calls c where c.producer = call_made.producer for update
  )
  select last.task_ids from last where last.call = call_made.call;
end;
comment on function dogged.call_made(uuid, bigint) is
  'The ids of the tasks that a producer''s call enqueued; null if the call has not taken effect. Waits for a try that is still '
  'running, and keeps later tries waiting until the caller''s transaction ends.';

create or replace function dogged.answer_made(producer uuid, call bigint) returns setof text
language sql volatile security definer begin atomic
  with last as materialized (
    select c.call, c.answer from dogged.producer_calls c where c.producer = answer_made.producer for update
  )
  select last.answer from last where last.call = answer_made.call;
end;
comment on function dogged.answer_made(uuid, bigint) is 'Like call_made, for a call that enqueues nothing: the answer of the call.';
