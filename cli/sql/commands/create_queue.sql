-- Creates queue $1 unless it exists.
select dogged.create_queue($1)
