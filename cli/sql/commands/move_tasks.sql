-- Moves the tasks $1 to queue $2. The result has a row for each id, in the order of ids.
select id, result from dogged.move_tasks($1::bigint[], $2)
