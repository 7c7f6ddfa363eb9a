-- args and results as they may be shown: without what the task's definition hides (.redact).

create or replace function dogged.redacted(task_name text, document jsonb) returns jsonb
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
declare
  pointer text;
  path text[];
begin
  for pointer in select unnest(d.redact) from dogged.task_definitions d where d.name = redacted.task_name loop
    exit when document is null;
    if pointer = '' then
      return '"[redacted]"';
    end if;
    -- RFC 6901: ~1 is /, ~0 is ~, in this order.
    select array_agg(replace(replace(token, '~1', '/'), '~0', '~') order by place) into path
      from regexp_split_to_table(substr(pointer, 2), '/') with ordinality as tokens (token, place);
    if document #> path is not null then
      document := jsonb_set(document, path, '"[redacted]"', false);
    end if;
  end loop;
  return document;
end $$;
comment on function dogged.redacted(text, jsonb) is
  'The document with "[redacted]" in place of what the JSON pointers in task_definitions.redact name.';

-- A viewer has no right on the columns args and result of the tables; the view has its owner's.
create or replace view dogged.redacted_tasks as
select t.id, t.status, t.queue, t.name, t.priority, dogged.redacted(t.name, t.args) as args, t.enqueued_at, t.run_at, t.deferred,
       t.next_retry_at, t.attempt, t.retry_count, t.losses, t.worker_id, t.claimed_at, t.finished_at,
       dogged.redacted(t.name, t.result) as result, t.error_code, t.error_message, t.trace_context, t.ready_position,
       t.cancel_requested_at
  from dogged.tasks t;
comment on view dogged.redacted_tasks is
  'As tasks, with "[redacted]" in place of what the tasks'' workers have declared as .redact.';
