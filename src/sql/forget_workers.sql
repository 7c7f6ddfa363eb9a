-- Deletes the rows of workers that ended long ago and that nothing names.
select dogged.forget_workers() as forgotten
