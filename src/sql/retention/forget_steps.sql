-- Deletes the checkpoints, waits and progress of tasks that have ended.
-- gives: forgotten bigint
select dogged.forget_steps() as forgotten
