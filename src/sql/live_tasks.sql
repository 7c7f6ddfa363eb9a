-- Which of the tasks $1 have not ended, in the order of their ids: asked again and again by those who wait, so it looks at
-- the live table alone.
select t.id
  from dogged.tasks_live t
 where t.id = any ($1::bigint[])
 order by t.id
