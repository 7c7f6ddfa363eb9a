-- Deletes the checkpoints and waits of tasks that have ended.
-- gives: forgotten bigint
select dogged.forget_steps() as forgotten
