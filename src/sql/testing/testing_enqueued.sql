-- The tasks named $1 (null: all), for the test kit's assertions, in the order of their ids. Tasks that have ended are
-- included only if $2 is true.
select t.id, t.name, t.queue, t.args::text as args, t.priority, t.status::text as status, t.trace_context,
       to_json(coalesce(t.tags, '{}'))::text as tags,
       (extract(epoch from t.run_at) * 1000000)::bigint as run_at_us
  from dogged.tasks t
 where ($1::text is null or t.name = $1) and ($2::boolean or t.status in ('pending', 'running'))
 order by t.id
