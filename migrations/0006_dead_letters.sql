-- Users search dead letters by error code, name, queue and time, the latest first. Each filter of `dogged dead` has an
-- index that returns its page in order. Only a task that fails for good pays for these indexes.
create index tasks_failed_error_code on dogged.tasks_failed (error_code, finished_at, id);
create index tasks_failed_name on dogged.tasks_failed (name, finished_at, id);
create index tasks_failed_queue on dogged.tasks_failed (queue, finished_at, id);
-- A task may have several tags. The index finds the tasks with a tag, which are then sorted.
create index tasks_failed_tags on dogged.tasks_failed using gin (tags) where tags is not null;
