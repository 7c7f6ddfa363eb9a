-- Renames queue $1 to $2.
select dogged.rename_queue($1, $2) as moved
