-- Creates @queue, if it is given, for a task's name, and tells whether a worker has declared that name.
-- gives: is_declared boolean
select dogged.prepare_task(@name::text, @queue::text?) as is_declared
