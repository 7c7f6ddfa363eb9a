-- The queues that a worker serves or whose tasks it declares.
select dogged.create_queue(name) from unnest($1::text[]) as served (name)
