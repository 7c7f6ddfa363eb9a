-- Pauses schedule @name until it is resumed.
-- gives: changed boolean
select dogged.pause_schedule(@name::text) as changed
