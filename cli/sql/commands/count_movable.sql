-- How many tasks a move from queue @queue would move, of the name @name (null: of any name): pending tasks and dead
-- letters.
-- gives: tasks bigint
select (select count(*) from dogged.tasks_live t
         where t.queue = @queue::text and t.status = 'pending' and (@name::text? is null or t.name = @name))
       + (select count(*) from dogged.tasks_failed f where f.queue = @queue::text and (@name::text? is null or f.name = @name)) as tasks
