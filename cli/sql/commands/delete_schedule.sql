-- Deletes schedule @name.
-- gives: nothing
select dogged.delete_schedule(@name::text)
