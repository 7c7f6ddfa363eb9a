-- Shows args and results without the parts that the task's definition hides (.redact).

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
    -- RFC 6901: ~1 means /, ~0 means ~; replaced in this order.
    select array_agg(replace(replace(token, '~1', '/'), '~0', '~') order by place) into path
      from regexp_split_to_table(substr(pointer, 2), '/') with ordinality as tokens (token, place);
    if document #> path is not null then
      document := jsonb_set(document, path, '"[redacted]"', false);
    end if;
  end loop;
  return document;
end $$;
comment on function dogged.redacted(text, jsonb) is
  'The document with "[redacted]" in place of the values that the JSON pointers in task_definitions.redact name.';

-- Most tasks hide nothing. For them the view does not call the function, which takes longer than reading the row. A
-- statement reads the names of the others once.
create or replace view dogged.redacted_tasks as
select t.id, t.status, t.queue, t.name, t.priority,
       case when t.name = any (array(select d.name from dogged.task_definitions d where d.redact <> '{}'))
            then dogged.redacted(t.name, t.args) else t.args end as args,
       t.enqueued_at, t.run_at, t.deferred, t.next_retry_at, t.attempt, t.retry_count, t.losses, t.worker_id, t.claimed_at,
       t.finished_at,
       case when t.name = any (array(select d.name from dogged.task_definitions d where d.redact <> '{}'))
            then dogged.redacted(t.name, t.result) else t.result end as result,
       t.error_code, t.error_message, t.trace_context, t.ready_position, t.cancel_requested_at,
       t.expires_at, t.tags, t.parent_id, t.args_version, t.snoozes, t.unique_key
  from dogged.tasks t;
comment on view dogged.redacted_tasks is
  'Like tasks, with "[redacted]" in place of the values that workers have declared as .redact.';
-- Each column has the same meaning as in tasks.
do $$
declare
  column_name name;
  meaning text;
begin
  for column_name, meaning in
    select a.attname, col_description(a.attrelid, a.attnum) from pg_attribute a
     where a.attrelid = 'dogged.tasks'::regclass and a.attnum > 0 and not a.attisdropped
       and exists (select from pg_attribute v where v.attrelid = 'dogged.redacted_tasks'::regclass and v.attname = a.attname)
  loop
    execute format('comment on column dogged.redacted_tasks.%I is %L', column_name, meaning);
  end loop;
end $$;
comment on column dogged.redacted_tasks.args is 'The args, without the redacted values.';
comment on column dogged.redacted_tasks.result is 'The result, without the redacted values.';
