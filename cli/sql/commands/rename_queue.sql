-- Renames queue @name to @new_name.
-- gives: moved bigint
select dogged.rename_queue(@name::text, @new_name::text) as moved
