-- Moves up to $4 tasks from queue $1 to queue $2, only those with the name $3 (null: any name).
select dogged.move_queue($1, $2, $3, $4::integer) as moved
