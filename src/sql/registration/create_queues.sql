-- Creates the queues that a worker serves, and the queues of the tasks that it declares.
select dogged.create_queue(name) from unnest($1::text[]) as served (name)
