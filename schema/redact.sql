-- dogged.redacted(…): args and results as they may be shown, without what the task's definition hides (.redact).

create or replace function dogged.redacted(task_name text, document jsonb) returns jsonb
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
declare
  pointer text;
  path text[];
begin
  for pointer in select unnest(d.redact) from dogged.task_definitions d where d.name = redacted.task_name loop
    -- RFC 6901: ~1 is /, ~0 is ~, in this order.
    select coalesce(array_agg(replace(replace(token, '~1', '/'), '~0', '~') order by place), '{}') into path
      from unnest(string_to_array(substr(pointer, 2), '/')) with ordinality as tokens (token, place)
     where pointer <> '';
    if path = '{}' then
      return '"[redacted]"';
    elsif document #> path is not null then
      document := jsonb_set(document, path, '"[redacted]"', false);
    end if;
  end loop;
  return document;
end $$;
comment on function dogged.redacted(text, jsonb) is
  'The document with "[redacted]" in place of what the JSON pointers in task_definitions.redact name.';
