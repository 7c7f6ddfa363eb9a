-- Those of the queues $1 that do not exist, each with the existing names nearest to it.
select wanted.name, dogged.nearest_queues(wanted.name) as nearest
  from unnest($1::text[]) as wanted (name)
 where not exists (select from dogged.queues q where q.name = wanted.name)
 order by wanted.name
