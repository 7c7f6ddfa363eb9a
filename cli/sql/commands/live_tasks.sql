-- Those of the tasks $1 that have not ended, in the order of their ids. Waiting clients poll it, so it reads only the
-- live table.
select t.id
  from dogged.tasks_live t
 where t.id = any ($1::bigint[])
 order by t.id
