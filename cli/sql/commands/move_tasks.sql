-- Moves the tasks @ids to queue @to_queue. The result has a row for each id, in the order of ids.
-- gives: id bigint, result text
select id, result from dogged.move_tasks(@ids::bigint[], @to_queue::text)
