-- Creates queue @name unless it exists.
-- gives: nothing
select dogged.create_queue(@name::text)
