-- Lists the tasks of @ids that have not ended, in the order of their ids. Waiting clients poll this statement, so it
-- reads only the live table.
-- gives: id bigint
select t.id
  from dogged.tasks_live t
 where t.id = any (@ids::bigint[])
 order by t.id
