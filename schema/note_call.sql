-- For the idempotency keys of producers (producer_calls). As dogged.enqueue, it qualifies names instead of setting a search_path.

create or replace function dogged.note_call(producer uuid, call bigint, task_ids bigint[]) returns bigint[]
language plpgsql set plan_cache_mode = force_generic_plan as $$
begin
  if note_call.producer is null then return note_call.task_ids; end if;
  insert into dogged.producer_calls as last (producer, call, task_ids)
  values (note_call.producer, note_call.call, note_call.task_ids)
      on conflict on constraint producer_calls_pkey do update
     set call = excluded.call, task_ids = excluded.task_ids, called_at = pg_catalog.now()
   where last.call operator(pg_catalog.<) excluded.call;
  if not found then
    raise exception 'call % of producer % was made before', note_call.call, note_call.producer
      using hint = 'Nothing was enqueued: this is an older try, which arrived late.', errcode = 'unique_violation';
  end if;
  return note_call.task_ids;
end $$;
comment on function dogged.note_call(uuid, bigint, bigint[]) is
  'Internal: notes what a producer''s call has enqueued, in the transaction that enqueues, and gives it back. An '
  'error where that call, or a later one, is on record: so a call that is repeated does not take effect twice. '
  'Without a producer nothing is noted.';
