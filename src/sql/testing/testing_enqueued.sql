-- The tasks named @name (null: all), for the test kit's assertions, in the order of their ids. Tasks that have ended
-- are included only if @with_ended is true.
-- gives: id bigint, name text, queue text, args text, priority int, status text, trace_context text?, tags text
-- gives: run_at_us bigint, parent_id bigint?, args_version int, expires_at_us bigint?
select t.id, t.name, t.queue, t.args::text as args, t.priority, t.status::text as status, t.trace_context,
       to_json(coalesce(t.tags, '{}'))::text as tags,
       (extract(epoch from t.run_at) * 1000000)::bigint as run_at_us, t.parent_id,
       coalesce(t.args_version, 1)::int as args_version,
       (extract(epoch from t.expires_at) * 1000000)::bigint as expires_at_us
  from dogged.tasks t
 where (@name::text? is null or t.name = @name) and (@with_ended::boolean or t.status in ('pending', 'running'))
 order by t.id
