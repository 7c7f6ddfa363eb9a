-- Deletes the queue $1, which must be empty.
select dogged.delete_queue($1)
