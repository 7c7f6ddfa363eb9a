-- How far tasks have come, as their handlers say (Context::progress). A table of its own: a column of tasks_live would make
-- each report a new version of a row that claims read. A worker writes at most one row a task a second
-- (docs/decisions/0021), and half of each page is free, so that no index changes.

create table dogged.task_progress (
  task_id     bigint primary key,
  attempt     integer not null,
  fraction    double precision check (fraction between 0 and 1),
  message     text not null check (octet_length(message) <= 1000),
  reported_at timestamptz not null
) with (fillfactor = 50);
comment on table dogged.task_progress is
  'How far tasks have come: the latest that the handler of each has said (Context::progress). task_overview shows it. Rows of tasks '
  'that have ended go with the next retention (dogged.forget_steps), but those of dead letters stay.';
comment on column dogged.task_progress.task_id is 'The task: tasks.id.';
comment on column dogged.task_progress.attempt is 'The attempt that said so.';
comment on column dogged.task_progress.fraction is 'The part that is done, 0 to 1; null: the handler does not know.';
comment on column dogged.task_progress.message is 'What the handler said, cut to 1,000 bytes.';
comment on column dogged.task_progress.reported_at is 'When the handler said so.';
