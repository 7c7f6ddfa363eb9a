-- Lists the queues of @names that do not exist, each with the existing names nearest to it.
-- gives: name text, nearest text?
select wanted.name, dogged.nearest_queues(wanted.name) as nearest
  from unnest(@names::text[]) as wanted (name)
 where not exists (select from dogged.queues q where q.name = wanted.name)
 order by wanted.name
