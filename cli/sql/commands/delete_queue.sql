-- Deletes the queue @name, which must be empty.
-- gives: nothing
select dogged.delete_queue(@name::text)
