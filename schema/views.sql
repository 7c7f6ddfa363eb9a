-- Views on tasks, queues, workers and errors. A query for one task uses an index. A query for many reads the days or
-- minutes that the comment of the view names, however long the history is (docs/decisions/0009-views.md).
--
-- A value that needs its own lookup is a subquery in the list of columns. It costs nothing unless it is selected, and
-- conditions on the other columns reach the tables. New columns go to the end of a view: `create or replace` refuses
-- any other change, and users' queries would break.
--
-- args and results are shown only through dogged.redacted.

-- A worker leaves a task of a later version than it knows, like a task with an unknown name.
create or replace function dogged.knows_task(task_names text[], args_versions jsonb, name text, args_version smallint)
returns boolean
language sql immutable parallel safe return
  name = any (task_names) and (args_version is null or args_version <= coalesce((args_versions ->> name)::integer, 1));
comment on function dogged.knows_task(text[], jsonb, text, smallint) is
  'Whether a worker with these task_names and args_versions (dogged.workers) runs a task with this name and version of its args.';

create or replace view dogged.task_timeline as
with attempts as not materialized (
  select a.task_id, a.attempt, a.name, a.queue, a.outcome, a.worker_id, a.claimed_at, a.started_at, a.finished_at,
         a.error_code, a.error_message, a.error_details, a.will_retry, a.next_retry_at, a.policy, a.backoff_ms, a.delay_ms,
         a.retry_after_ms, a.trace_context
    from dogged.task_attempts a
   union all
  select t.id, t.attempt, t.name, t.queue, null, t.worker_id, t.claimed_at, null, null,
         null, null, null, null, null, null, null, null,
         null, t.trace_context
    from dogged.tasks_live t
   where t.status = 'running'
), dated as not materialized (
  -- If the task has ended, it ended after this attempt, and the previous attempt ended before this one was claimed. So
  -- the query reads only the days that can hold them.
  select a.*, coalesce(a.started_at, a.claimed_at) as began_at,
         case when a.attempt = 1
              then (select t.run_at from dogged.tasks t
                     where t.id = a.task_id
                       and (a.finished_at is null or t.finished_at is null or t.finished_at >= a.finished_at)
                     limit 1)
              else coalesce(
                     -- If the task was replayed or rescheduled after that attempt, the last such change gives the due
                     -- time.
                     (select coalesce(c.details->>'due_at', c.details->>'run_at')::timestamptz from dogged.audit c
                       where c.task_id = a.task_id and c.action in ('replay', 'reschedule')
                         and c.details->'attempts' = to_jsonb(a.attempt - 1)
                       order by c.id desc limit 1),
                     (select p.next_retry_at from dogged.task_attempts p
                       where p.task_id = a.task_id and p.attempt = a.attempt - 1 and p.finished_at <= a.claimed_at
                       limit 1)) end as due_at
    from attempts a
)
select d.task_id, d.attempt, d.name, d.queue, d.outcome, greatest(d.began_at - d.due_at, interval '0') as waited,
       d.started_at, d.finished_at, coalesce(d.finished_at, now()) - d.began_at as ran,
       d.error_code, d.error_message, d.error_details, d.will_retry, d.next_retry_at,
       d.policy, d.backoff_ms, d.delay_ms, d.retry_after_ms,
       (select w.name from dogged.workers w where w.id = d.worker_id) as worker, d.trace_context, d.claimed_at, d.due_at
  from dated d;
comment on view dogged.task_timeline is
  'One row for each attempt of a task: those that ended, and the one under way (its outcome is null). Ask for one '
  'task_id, or for a short time by finished_at.';
comment on column dogged.task_timeline.task_id is 'Of tasks.id.';
comment on column dogged.task_timeline.attempt is '1, 2, 3 … for the whole life of the task.';
comment on column dogged.task_timeline.name is 'Of the task.';
comment on column dogged.task_timeline.queue is 'Of the task.';
comment on column dogged.task_timeline.outcome is
  'What it came to: succeeded, failed, timed_out, cancelled, lost or interrupted; null while it runs.';
comment on column dogged.task_timeline.waited is
  'From due_at to its start: how long it waited for a worker. Null where due_at is not known.';
comment on column dogged.task_timeline.started_at is 'When its handler began; of a lost attempt, when it was claimed.';
comment on column dogged.task_timeline.finished_at is 'When it ended; null while it runs.';
comment on column dogged.task_timeline.ran is
  'How long its handler took, or has been running, the time since it was claimed included.';
comment on column dogged.task_timeline.error_code is
  'What went wrong; null unless it failed, timed out, was cancelled or lost.';
comment on column dogged.task_timeline.error_message is 'The same in words.';
comment on column dogged.task_timeline.error_details is 'What the handler added to its error, as JSON.';
comment on column dogged.task_timeline.will_retry is 'Whether another attempt was scheduled when it ended.';
comment on column dogged.task_timeline.next_retry_at is 'For when that was scheduled.';
comment on column dogged.task_timeline.policy is 'The retry policy that was applied, as `dogged policy show` reads it.';
comment on column dogged.task_timeline.backoff_ms is 'The delay by the policy, before jitter.';
comment on column dogged.task_timeline.delay_ms is 'The delay after jitter.';
comment on column dogged.task_timeline.retry_after_ms is 'Given by the error, in place of the policy''s delay.';
comment on column dogged.task_timeline.worker is 'The name of the worker that ran it.';
comment on column dogged.task_timeline.trace_context is 'As the producer gave it.';
comment on column dogged.task_timeline.claimed_at is 'When its worker took the task.';
comment on column dogged.task_timeline.due_at is
  'When it was due: the task''s run_at for the first attempt, then next_retry_at of the attempt before, or what the task was '
  'replayed or rescheduled to since then.';

create or replace view dogged.dead_letters as
select f.id, f.name, f.queue, f.error_code, f.error_message, f.attempt as attempts, f.retry_count, f.losses, f.enqueued_at,
       f.finished_at as failed_at, dogged.redacted(f.name, f.args) as args, f.trace_context,
       (select a.error_details from dogged.task_attempts a
         where a.task_id = f.id and a.attempt = f.attempt and a.finished_at = f.finished_at) as error_details,
       (select a.outcome from dogged.task_attempts a
         where a.task_id = f.id and a.attempt = f.attempt and a.finished_at = f.finished_at) as outcome,
       (select w.name from dogged.workers w where w.id = f.worker_id) as worker,
       f.priority, f.run_at, coalesce(f.tags, '{}') as tags, f.parent_id, coalesce(f.args_version, 1::smallint) as args_version
  from dogged.tasks_failed f;
comment on view dogged.dead_letters is
  'Tasks that ended failed, with what went wrong last. dogged.replay runs one again. By id and by failed_at it '
  'answers at once; to count all of them is to read all of them.';
comment on column dogged.dead_letters.id is 'Of the task.';
comment on column dogged.dead_letters.name is 'Of the task.';
comment on column dogged.dead_letters.queue is 'Of the task.';
comment on column dogged.dead_letters.error_code is 'Of the last attempt.';
comment on column dogged.dead_letters.error_message is 'Of the last attempt.';
comment on column dogged.dead_letters.attempts is 'How many there were.';
comment on column dogged.dead_letters.retry_count is 'Retries spent.';
comment on column dogged.dead_letters.losses is 'Attempts that ended because their worker died.';
comment on column dogged.dead_letters.enqueued_at is 'When it was enqueued.';
comment on column dogged.dead_letters.failed_at is 'When its last attempt ended.';
comment on column dogged.dead_letters.args is
  'As they were enqueued, without what its definition hides (task_definitions.redact).';
comment on column dogged.dead_letters.trace_context is 'As the producer gave it.';
comment on column dogged.dead_letters.error_details is
  'What the handler added to its last error, as JSON; null where there was nothing, or retention has dropped the '
  'attempt.';
comment on column dogged.dead_letters.outcome is 'Of the last attempt: failed, timed_out or lost.';
comment on column dogged.dead_letters.worker is 'The name of the worker that ran it last.';
comment on column dogged.dead_letters.priority is 'Lower runs first.';
comment on column dogged.dead_letters.run_at is 'Not before this time for the first run.';
comment on column dogged.dead_letters.tags is 'Words that its producer gave it.';
comment on column dogged.dead_letters.parent_id is 
  'The parent: the task of the handler that enqueued this one, or the task that the producer named. Null: none.';
comment on column dogged.dead_letters.args_version is 'The version of its args.';

create or replace view dogged.task_overview as
select t.id, t.name, t.queue, t.status,
       case when t.status = 'failed' then 'failed: a dead letter'
            when t.status not in ('pending', 'running') then t.status::text
            when t.status = 'running' and t.cancel_requested_at is not null then 'runs, and is asked to stop'
            when t.status = 'running' and exists (
                   select from dogged.workers w where w.id = t.worker_id and w.lease_ended_at is not null)
              then 'lost its worker, and waits to be rescued'
            when t.status = 'running' and exists (
                   select from dogged.workers w where w.id = t.worker_id and w.lease_until < now())
              then 'runs, but its worker does not renew its lease'
            when t.status = 'running' then 'runs'
            when t.deferred and t.next_retry_at is not null and exists (
                   select from dogged.task_definitions d join dogged.circuits c on c.name = d.circuit
                    where d.name = t.name and c.state <> 'closed')
              then 'waits for its circuit to close'
            when coalesce(t.next_retry_at, t.run_at) > now() and t.attempt > 0 then 'waits for its retry'
            when coalesce(t.next_retry_at, t.run_at) > now() then 'waits for its time'
            when exists (select from dogged.queues q
                          where q.name = t.queue and q.paused_at is not null and coalesce(q.paused_until > now(), true))
              then 'is due, but its queue is paused'
            when exists (select from dogged.workers w
                          where w.stopped_at is null and w.lease_ended_at is null and w.lease_until > now()
                            and w.queues ? t.queue and dogged.knows_task(w.task_names, w.args_versions, t.name, t.args_version))
              then 'is due, and waits for its turn'
            when t.args_version is not null and exists (
                   select from dogged.workers w
                    where w.stopped_at is null and w.lease_ended_at is null and w.lease_until > now()
                      and w.queues ? t.queue and t.name = any (w.task_names))
              then 'is due, but its args are of a later version than its workers know'
            else 'is due, but no worker serves its queue and knows it' end as state,
       case when t.status = 'running' then t.claimed_at
            when t.status <> 'pending' then t.finished_at
            when coalesce(t.next_retry_at, t.run_at) <= now() then coalesce(t.next_retry_at, t.run_at)
            when t.attempt > 0 then coalesce((select a.finished_at from dogged.task_attempts a
                                               where a.task_id = t.id and a.attempt = t.attempt
                                                 and a.finished_at >= t.claimed_at limit 1), t.claimed_at)
            else t.enqueued_at end as since,
       case when t.status = 'pending' then coalesce(t.next_retry_at, t.run_at) end as next_run_at,
       t.attempt as attempts, t.retry_count, t.losses,
       t.error_code as last_error_code, t.error_message as last_error_message,
       (select w.name from dogged.workers w where w.id = t.worker_id) as worker,
       t.priority, dogged.redacted(t.name, t.args) as args, dogged.redacted(t.name, t.result) as result,
       t.enqueued_at, t.run_at, t.claimed_at, t.finished_at, t.cancel_requested_at, t.trace_context,
       coalesce(t.tags, '{}') as tags, t.parent_id, coalesce(t.args_version, 1::smallint) as args_version
  from dogged.tasks t;
comment on view dogged.task_overview is
  'One row for each task, with its state in words. Ask for one id, for the newest (order by id desc limit …), by '
  'status, or for a short time by finished_at: that reads the days it touches.';
comment on column dogged.task_overview.id is 'Of the task.';
comment on column dogged.task_overview.name is 'What runs.';
comment on column dogged.task_overview.queue is 'Where it stands.';
comment on column dogged.task_overview.status is
  'For programs: pending, running, succeeded, failed, discarded, cancelled or expired.';
comment on column dogged.task_overview.state is
  'The same for people: what it waits for, or how it ended. Programs use status.';
comment on column dogged.task_overview.since is 'Since when it is in that state.';
comment on column dogged.task_overview.next_run_at is 'Of a pending task: when it is due.';
comment on column dogged.task_overview.attempts is 'Attempts begun.';
comment on column dogged.task_overview.retry_count is 'Retries spent.';
comment on column dogged.task_overview.losses is 'Attempts that ended because their worker died.';
comment on column dogged.task_overview.last_error_code is 'Of the last attempt that failed.';
comment on column dogged.task_overview.last_error_message is 'Of the last attempt that failed.';
comment on column dogged.task_overview.worker is 'The name of the worker that runs it, or ran it last.';
comment on column dogged.task_overview.priority is 'Lower runs first.';
comment on column dogged.task_overview.args is
  'As they were enqueued, without what its definition hides (task_definitions.redact).';
comment on column dogged.task_overview.result is 'What its handler returned, without what its definition hides.';
comment on column dogged.task_overview.enqueued_at is 'When it was enqueued.';
comment on column dogged.task_overview.run_at is 'Not before this time for the first run.';
comment on column dogged.task_overview.claimed_at is 'When a worker took it last.';
comment on column dogged.task_overview.finished_at is 'When it ended.';
comment on column dogged.task_overview.cancel_requested_at is 'When dogged.cancel was called while an attempt ran.';
comment on column dogged.task_overview.trace_context is 'As the producer gave it.';
comment on column dogged.task_overview.tags is 'Words that its producer gave it.';
comment on column dogged.task_overview.parent_id is 
  'The parent: the task of the handler that enqueued this one, or the task that the producer named. Null: none.';
comment on column dogged.task_overview.args_version is 'The version of its args.';

-- jit off: compilation took ten times as long as the query. The planner assumes that all forty partitions are read.
create or replace function dogged.recent_figures()
returns table (queue text, attempts bigint, ended_per_minute numeric, failed_per_minute numeric, retry_share numeric,
               wait_p50 interval, wait_p95 interval, run_p50 interval, run_p95 interval)
language sql stable set search_path = pg_catalog, pg_temp set jit = off as $$
  with rates as (
    select a.queue, count(*) as attempts,
           round(count(*) filter (where not a.will_retry) / 5.0, 1) as ended_per_minute,
           round(count(*) filter (where not a.will_retry and a.outcome in ('failed', 'timed_out', 'lost')) / 5.0, 1)
             as failed_per_minute,
           round(count(*) filter (where a.will_retry and a.outcome in ('failed', 'timed_out'))::numeric / count(*), 3)
             as retry_share
      from dogged.task_attempts a
     where a.finished_at >= now() - interval '5 minutes'
     group by a.queue
  ), sample as (
    -- All attempts of a queue if it has up to 500, else about 500. A hash selects them, independently of end times and
    -- durations.
    select a.task_id, a.attempt, a.queue, a.started_at, a.finished_at
      from dogged.task_attempts a
      join rates r on r.queue = a.queue
     where a.finished_at >= now() - interval '5 minutes'
       and (hashint8extended(a.task_id, a.attempt) & 1073741823) * r.attempts < 500 * 1073741824::bigint
  ), times as (
    select s.queue,
           percentile_cont(0.5) within group (order by s.waited) as wait_p50,
           percentile_cont(0.95) within group (order by s.waited) as wait_p95,
           percentile_cont(0.5) within group (order by s.ran) as run_p50,
           percentile_cont(0.95) within group (order by s.ran) as run_p95
      from (select s.queue, s.finished_at - s.started_at as ran,
                   (select t.waited from dogged.task_timeline t
                     where t.task_id = s.task_id and t.attempt = s.attempt and t.finished_at = s.finished_at limit 1) as waited
              from sample s) s
     group by s.queue
  )
  select r.queue, r.attempts, r.ended_per_minute, r.failed_per_minute, r.retry_share, t.wait_p50, t.wait_p95, t.run_p50, t.run_p95
    from rates r left join times t on t.queue = r.queue
$$;
comment on function dogged.recent_figures() is
  'Internal: what queue_stats says of the attempts of the last five minutes, one row for each queue that had some.';

create or replace view dogged.queue_stats as
with depth as (
  select t.queue,
         count(*) filter (where t.status = 'pending' and coalesce(t.next_retry_at, t.run_at) <= now()) as ready,
         count(*) filter (where t.status = 'pending' and coalesce(t.next_retry_at, t.run_at) > now()) as waiting,
         count(*) filter (where t.status = 'running') as running,
         min(coalesce(t.next_retry_at, t.run_at))
           filter (where t.status = 'pending' and coalesce(t.next_retry_at, t.run_at) <= now()) as oldest_due_at
    from dogged.tasks_live t
   group by t.queue
)
select q.name as queue,
       coalesce(d.ready, 0) as ready, coalesce(d.waiting, 0) as waiting, coalesce(d.running, 0) as running,
       d.oldest_due_at, now() - d.oldest_due_at as oldest_due_age,
       coalesce(r.attempts, 0) as attempts, coalesce(r.ended_per_minute, 0) as ended_per_minute,
       coalesce(r.failed_per_minute, 0) as failed_per_minute, r.retry_share,
       r.wait_p50, r.wait_p95, r.run_p50, r.run_p95
  from dogged.queues q
  left join depth d on d.queue = q.name
  left join dogged.recent_figures() r on r.queue = q.name;
comment on view dogged.queue_stats is
  'One row for each queue: what is in it now, and what was done in the last five minutes. Reads all live tasks, and '
  'the attempts of the last five minutes.';
comment on column dogged.queue_stats.queue is 'Its name.';
comment on column dogged.queue_stats.ready is 'Pending tasks that are due.';
comment on column dogged.queue_stats.waiting is 'Pending tasks that wait for their time or for a retry.';
comment on column dogged.queue_stats.running is 'Tasks that a worker holds.';
comment on column dogged.queue_stats.oldest_due_at is
  'Since when the ready task is due that waits longest; null where none is ready.';
comment on column dogged.queue_stats.oldest_due_age is 'How long that is.';
comment on column dogged.queue_stats.attempts is 'Attempts that ended in the last five minutes.';
comment on column dogged.queue_stats.ended_per_minute is
  'Tasks that ended, however, a minute: of the last five. Without those that were cancelled before they ran.';
comment on column dogged.queue_stats.failed_per_minute is
  'Tasks that ended failed or discarded, a minute: of the last five.';
comment on column dogged.queue_stats.retry_share is
  'Of the attempts of the last five minutes: the share that failed and is tried again, from 0 to 1; null where there '
  'were none.';
comment on column dogged.queue_stats.wait_p50 is
  'Half of the attempts began within this time after they were due. As the three columns that follow, of all attempts of '
  'the last five minutes up to 500 of the queue; of more it is an estimate, from about 500 of them, spread evenly over '
  'the five minutes.';
comment on column dogged.queue_stats.wait_p95 is '95 of 100 began within this time after they were due.';
comment on column dogged.queue_stats.run_p50 is 'Half of them took no longer.';
comment on column dogged.queue_stats.run_p95 is '95 of 100 took no longer.';

create or replace view dogged.worker_stats as
select w.id, w.name,
       case when w.stopped_at is not null then 'stopped'
            when w.lease_ended_at is not null then 'dead'
            when w.lease_until < now() then 'stalled'
            else 'alive' end as state,
       case when w.stopped_at is null and w.lease_ended_at is null then greatest(w.lease_until - now(), interval '0') end
         as lease_left,
       (select count(*)
          from dogged.tasks_live t
         where t.id = any (array(select unnest(c.task_ids) from dogged.claims c where c.worker_id = w.id))
           and t.worker_id = w.id and t.status = 'running') as running,
       coalesce(r.attempts, 0) as attempts, coalesce(r.failed, 0) as failed,
       w.fenced, w.abandoned_threads, w.asleep, w.queues, w.task_names, w.host, w.pid, w.version,
       w.started_at, w.heartbeat_at, w.lease_until, w.lease_ended_at, w.rescued_at, w.stopped_at, w.clock_ahead_ms
  from dogged.workers w
  left join (select a.worker_id, count(*) as attempts, count(*) filter (where a.outcome in ('failed', 'timed_out')) as failed
               from dogged.task_attempts a
              where a.finished_at >= now() - interval '5 minutes'
              group by a.worker_id) r on r.worker_id = w.id
 where coalesce(w.stopped_at, w.lease_ended_at, now()) > now() - interval '1 day';
comment on view dogged.worker_stats is
  'One row for each run of a worker that is there, or ended in the last day, with what it did in the last five '
  'minutes. `dogged workers` shows the same.';
comment on column dogged.worker_stats.id is 'Of workers.id.';
comment on column dogged.worker_stats.name is 'Of the worker.';
comment on column dogged.worker_stats.state is
  'alive; stalled: its lease has lapsed, and nobody has ended it yet; dead: its lease was ended, what it held is '
  'rescued; stopped: it ended in order. `dogged workers` says live, lapsed, lost and stopped.';
comment on column dogged.worker_stats.lease_left is
  'Until others may take its tasks; null where it is dead or stopped.';
comment on column dogged.worker_stats.running is 'Tasks that it holds now.';
comment on column dogged.worker_stats.attempts is 'Of it that ended in the last five minutes.';
comment on column dogged.worker_stats.failed is 'Those of them that failed or timed out.';
comment on column dogged.worker_stats.fenced is
  'Reports that did not count because it had lost the task, of the whole process. Not to be added up over the runs of '
  'a process.';
comment on column dogged.worker_stats.abandoned_threads is 'Threads whose handler did not end when it was asked to.';
comment on column dogged.worker_stats.asleep is 'It waits for a notification.';
comment on column dogged.worker_stats.queues is 'Concurrency by queue name.';
comment on column dogged.worker_stats.task_names is 'The tasks that it knows.';
comment on column dogged.worker_stats.host is 'Where it runs.';
comment on column dogged.worker_stats.pid is 'Its process.';
comment on column dogged.worker_stats.version is 'Of its program''s dogged.';
comment on column dogged.worker_stats.started_at is 'When it began.';
comment on column dogged.worker_stats.heartbeat_at is 'When it last renewed its lease.';
comment on column dogged.worker_stats.lease_until is 'Until when its lease holds.';
comment on column dogged.worker_stats.lease_ended_at is 'When its lease was ended.';
comment on column dogged.worker_stats.rescued_at is 'When nothing was left that it had held.';
comment on column dogged.worker_stats.stopped_at is 'When it ended in order.';
comment on column dogged.worker_stats.clock_ahead_ms is
  'By how many milliseconds its host''s clock is ahead of the server''s; null before its first heartbeat.';

create or replace view dogged.error_stats as
select date_trunc('hour', a.finished_at) as hour, a.name, a.error_code,
       count(*) as attempts, count(*) filter (where a.will_retry) as retried, count(*) filter (where not a.will_retry) as ended,
       min(a.finished_at) as first_at, max(a.finished_at) as last_at, max(a.task_id) as example_task_id,
       min(left(a.error_message, 200)) as example_message
  from dogged.task_attempts a
 where a.error_code is not null and a.finished_at >= now() - interval '3 days'
 group by 1, 2, 3;
comment on view dogged.error_stats is
  'Errors of the last three days by hour, task name and code: attempts that failed, timed out, were cancelled or '
  'lost. Reads the attempts of these days; of a shorter time, ask task_attempts with finished_at >= … '
  '(docs/cookbook.md).';
comment on column dogged.error_stats.hour is 'When it begins, in the session''s time zone.';
comment on column dogged.error_stats.name is 'Of the tasks.';
comment on column dogged.error_stats.error_code is 'What went wrong.';
comment on column dogged.error_stats.attempts is 'How many ended so.';
comment on column dogged.error_stats.retried is 'Of the attempts, those after which the task is tried again.';
comment on column dogged.error_stats.ended is 'Of the attempts, those that were the last of their task.';
comment on column dogged.error_stats.first_at is 'When the first of them ended.';
comment on column dogged.error_stats.last_at is 'When the last of them ended.';
comment on column dogged.error_stats.example_task_id is 'One of the tasks: the one that was enqueued last.';
comment on column dogged.error_stats.example_message is 'One of the messages, its first 200 characters.';
