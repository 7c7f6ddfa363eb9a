-- Creates the queues that a worker serves, and the queues of the tasks that it declares.
-- gives: nothing
select dogged.create_queue(name) from unnest(@names::text[]) as served (name)
