-- Emits the event @name.
-- gives: resumed bigint
select dogged.emit(@name::text, @payload::jsonb) as resumed
