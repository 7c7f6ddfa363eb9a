-- The steps of tasks, for people: which count, and what they gave.

create or replace view dogged.task_steps_overview as
select s.task_id, s.name, s.attempt, s.started_at, s.finished_at, s.finished_at - s.started_at as ran,
       -- Pointers name places in args and results, and not in what a step gives. So all of it is hidden.
       case when s.task_name = any (array(select d.name from dogged.task_definitions d where d.redact <> '{}'))
            then '"[redacted]"'::jsonb else s.result end as result,
       not exists (select from dogged.task_steps later
                    where later.task_id = s.task_id
                      and (later.name = s.name and later.attempt > s.attempt
                           or later.name is null and later.attempt >= s.attempt)) as counts,
       (select w.name from dogged.workers w where w.id = s.worker_id) as worker, s.task_name
  from dogged.task_steps s
 where s.name is not null;
comment on view dogged.task_steps_overview is
  'One row for each step of a task that has ended. Query one task_id, or a short time by finished_at.';
comment on column dogged.task_steps_overview.task_id is 'The task: tasks.id.';
comment on column dogged.task_steps_overview.name is 'The name that the handler gave the step.';
comment on column dogged.task_steps_overview.attempt is 'The attempt that ran the step.';
comment on column dogged.task_steps_overview.started_at is 'When the step began.';
comment on column dogged.task_steps_overview.finished_at is 'When the step ended.';
comment on column dogged.task_steps_overview.ran is 'How long the step took.';
comment on column dogged.task_steps_overview.result is
  'What the step gave, as JSON; "[redacted]" if the task''s definition hides anything of args or results.';
comment on column dogged.task_steps_overview.counts is
  'Whether a later attempt gets this result. False: a later attempt has run the step again, or the task was replayed since.';
comment on column dogged.task_steps_overview.worker is 'The name of the worker that ran the step.';
comment on column dogged.task_steps_overview.task_name is 'The task''s name.';
