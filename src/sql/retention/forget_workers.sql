-- Deletes the rows of workers that ended long ago and that no other row names.
-- gives: forgotten int
select dogged.forget_workers() as forgotten
