-- The unredacted args of the dead letters @ids that failed in the attempts @attempts.
-- gives: id bigint, args jsonb
select f.id, f.args::text as args
  from unnest(@ids::bigint[], @attempts::int[]) as a (id, attempt)
  join dogged.tasks_failed f on f.id = a.id and f.attempt = a.attempt
 where f.id = any (@ids::bigint[])
 order by f.id
