-- Enqueues the tasks of the ticks that are due, of up to @most schedules.
-- schedules: how many it has handled. due_in_ms: when the next tick is due, below zero if it is overdue, null if there is
-- none.
-- gives: schedules int, due_in_ms bigint?
select schedules, due_in_ms from dogged.fire_due_ticks(@most::int)
