-- Ends the pause of the queue @name.
-- gives: changed boolean
select dogged.resume_queue(@name::text) as changed
