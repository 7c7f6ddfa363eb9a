-- The unredacted args of the dead letters $1 that failed in the attempts $2.
select f.id, f.args::text as args
  from unnest($1::bigint[], $2::int[]) as a (id, attempt)
  join dogged.tasks_failed f on f.id = a.id and f.attempt = a.attempt
 where f.id = any ($1::bigint[])
 order by f.id
