-- What people ask about tasks. Each view answers for one task by index.

create or replace view dogged.task_timeline as
select a.task_id, a.attempt, a.name, a.queue, a.outcome,
       a.started_at - coalesce(lag(a.next_retry_at) over of_task, t.run_at) as waited,
       a.started_at, a.finished_at, a.finished_at - a.started_at as ran,
       a.error_code, a.error_message, a.error_details, a.will_retry, a.next_retry_at,
       a.policy, a.backoff_ms, a.delay_ms, a.retry_after_ms, w.name as worker, a.trace_context
  from dogged.task_attempts a
  left join dogged.tasks t on t.id = a.task_id
  left join dogged.workers w on w.id = a.worker_id
window of_task as (partition by a.task_id order by a.attempt);
comment on view dogged.task_timeline is
  'One row for each attempt. waited: from the time it was due to its start. ran: how long its handler took.';

create or replace view dogged.dead_letters as
select id, name, queue, error_code, error_message, attempt as attempts, retry_count, losses, enqueued_at, finished_at as failed_at,
       args, trace_context
  from dogged.tasks_failed;
comment on view dogged.dead_letters is 'Tasks that ended failed: what went wrong last, and how often they were tried.';
