-- Dead letters are looked through by what went wrong, where and when, the latest first: each filter of `dogged dead` has an
-- index that gives its page in order. Only a task that fails for good pays for them.
create index tasks_failed_error_code on dogged.tasks_failed (error_code, finished_at, id);
create index tasks_failed_name on dogged.tasks_failed (name, finished_at, id);
create index tasks_failed_queue on dogged.tasks_failed (queue, finished_at, id);
-- A task may have several tags: those that have one are found, and put in order.
create index tasks_failed_tags on dogged.tasks_failed using gin (tags) where tags is not null;
