-- How many tasks a move from queue $1 would move, of the name $2 (null: of any name): pending tasks and dead letters.
select (select count(*) from dogged.tasks_live t
         where t.queue = $1 and t.status = 'pending' and ($2::text is null or t.name = $2))
       + (select count(*) from dogged.tasks_failed f where f.queue = $1 and ($2::text is null or f.name = $2)) as tasks
