-- Renames schedule @name to @new_name.
-- gives: nothing
select dogged.rename_schedule(@name::text, @new_name::text)
