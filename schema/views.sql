-- Views on tasks, queues, workers and errors. A query for one task uses an index. A query for many reads the days or
-- minutes that the comment of the view names, however long the history is (docs/decisions/0009-views.md).
--
-- A value that needs its own lookup is a subquery in the list of columns. Such a subquery costs nothing unless it is
-- selected, and conditions on the other columns reach the tables. New columns go to the end of a view: `create or
-- replace` refuses any other change, and users' queries would break.
--
-- args and results are shown only through dogged.redacted.

-- Columns, not a row: a viewer may not read workers.schedules, and a row needs the right on every column.
create or replace function dogged.worker_state(
  lease_until timestamptz, stop_began_at timestamptz, lease_ended_at timestamptz, stopped_at timestamptz) returns text
language sql stable parallel safe return
  case when lease_until is null then null
       when stopped_at is not null then 'stopped'
       when lease_ended_at is not null then 'lost'
       when lease_until < now() then 'lapsed'
       when stop_began_at is not null then 'stopping'
       else 'live' end;
comment on function dogged.worker_state(timestamptz, timestamptz, timestamptz, timestamptz) is
  'The state of a worker, by the columns of dogged.workers of these names. live: the worker renews its lease, and claims; '
  'stopping: it renews its lease, lets its running tasks finish, and claims nothing more; '
  'lapsed: it did not renew its lease in time, and no worker has ended the lease yet; lost: its lease was ended, its reports change '
  'nothing, and its tasks are rescued; stopped: it ended in order.';

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
  -- the query reads only the days that can hold the task or the previous attempt.
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
  'One row for each attempt of a task: ended attempts, and the running attempt (its outcome is null). Query one task_id, or a '
  'short time by finished_at.';
comment on column dogged.task_timeline.task_id is 'The task: tasks.id.';
comment on column dogged.task_timeline.attempt is '1, 2, 3 … for the whole life of the task.';
comment on column dogged.task_timeline.name is 'The task''s name.';
comment on column dogged.task_timeline.queue is 'The queue that the task was in.';
comment on column dogged.task_timeline.outcome is
  'How the attempt ended: succeeded, failed, timed_out, cancelled, lost, interrupted or snoozed; null while the attempt '
  'runs.';
comment on column dogged.task_timeline.waited is
  'From due_at to the start: how long the attempt waited for a worker. Null where due_at is not known.';
comment on column dogged.task_timeline.started_at is 'When the handler began; for a lost attempt, when the task was claimed.';
comment on column dogged.task_timeline.finished_at is 'When the attempt ended; null while the attempt runs.';
comment on column dogged.task_timeline.ran is
  'How long the handler took. For a running attempt, the time since the task was claimed.';
comment on column dogged.task_timeline.error_code is
  'The error code; null unless the attempt failed, timed out, was cancelled or was lost.';
comment on column dogged.task_timeline.error_message is 'The error message.';
comment on column dogged.task_timeline.error_details is 'Details that the handler added to its error, as JSON.';
comment on column dogged.task_timeline.will_retry is 'Whether another attempt was scheduled when this one ended.';
comment on column dogged.task_timeline.next_retry_at is 'The time for which the next attempt was scheduled.';
comment on column dogged.task_timeline.policy is 'The applied retry policy, as `dogged policy show` reads it.';
comment on column dogged.task_timeline.backoff_ms is 'The delay by the policy, before jitter.';
comment on column dogged.task_timeline.delay_ms is 'The delay after jitter.';
comment on column dogged.task_timeline.retry_after_ms is 'The delay that the error gave, in place of the policy''s delay.';
comment on column dogged.task_timeline.worker is 'The name of the worker that ran the attempt.';
comment on column dogged.task_timeline.trace_context is
  'The trace of the attempt, if its worker made it the root of one; else the task''s trace context, as the producer gave it.';
comment on column dogged.task_timeline.claimed_at is 'When the worker claimed the task.';
comment on column dogged.task_timeline.due_at is
  'When the attempt was due: at run_at for the first attempt, at next_retry_at of the previous attempt for later ones. If the task '
  'was replayed or rescheduled since then, at the time set by the replay or reschedule.';

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
  'Tasks that ended as failed, with their last error. dogged.replay runs a dead letter again. Queries by id and by failed_at '
  'answer at once. A count of all dead letters reads all of them.';
comment on column dogged.dead_letters.id is 'The task''s id.';
comment on column dogged.dead_letters.name is 'The task''s name.';
comment on column dogged.dead_letters.queue is 'The task''s queue.';
comment on column dogged.dead_letters.error_code is 'The error code of the last attempt.';
comment on column dogged.dead_letters.error_message is 'The error message of the last attempt.';
comment on column dogged.dead_letters.attempts is 'The number of attempts.';
comment on column dogged.dead_letters.retry_count is 'Retries spent.';
comment on column dogged.dead_letters.losses is 'Attempts that ended because their worker died.';
comment on column dogged.dead_letters.enqueued_at is 'When the task was enqueued.';
comment on column dogged.dead_letters.failed_at is 'When the last attempt ended.';
comment on column dogged.dead_letters.args is
  'The enqueued args, without the values that the task''s definition hides (task_definitions.redact).';
comment on column dogged.dead_letters.trace_context is 'The trace context, as the producer gave it.';
comment on column dogged.dead_letters.error_details is
  'Details that the handler added to its last error, as JSON; null if there were none, or if retention has dropped the attempt.';
comment on column dogged.dead_letters.outcome is 'The outcome of the last attempt: failed, timed_out or lost.';
comment on column dogged.dead_letters.worker is 'The name of the worker that ran the task last.';
comment on column dogged.dead_letters.priority is 'Lower priorities run first.';
comment on column dogged.dead_letters.run_at is 'The first attempt does not begin before this time.';
comment on column dogged.dead_letters.tags is 'Words that the producer gave the task.';
comment on column dogged.dead_letters.parent_id is 
  'The parent: the task of the handler that enqueued this one, or the task that the producer named. Null: none.';
comment on column dogged.dead_letters.args_version is 'The version of the args.';

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
            when exists (select from dogged.waiting w where w.task_id = t.id and w.waits_for = 'sleep') then 'sleeps'
            when exists (select from dogged.waiting w where w.task_id = t.id and w.waits_for = 'event') then 'waits for an event'
            -- A circuit or an operator may have put the task off since: then its time is not that of the snooze.
            when t.next_retry_at > now() and t.snoozes > 0 and exists (
                   select from dogged.task_attempts a
                    where a.task_id = t.id and a.attempt = t.attempt and a.finished_at >= t.claimed_at
                      and a.outcome = 'snoozed' and a.next_retry_at = t.next_retry_at)
              then 'snoozes'
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
                          where dogged.worker_state(w.lease_until, w.stop_began_at, w.lease_ended_at, w.stopped_at) = 'live'
                            and w.queues ? t.queue and dogged.knows_task(w.task_names, w.args_versions, t.name, t.args_version))
              then 'is due, and waits for its turn'
            when t.args_version is not null and exists (
                   select from dogged.workers w
                    where dogged.worker_state(w.lease_until, w.stop_began_at, w.lease_ended_at, w.stopped_at) = 'live'
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
       coalesce(t.tags, '{}') as tags, t.parent_id, coalesce(t.args_version, 1::smallint) as args_version,
       -- The attempts keep the policy as it was applied, so that no task carries it. A policy's text is that of
       -- policy_to_text.
       (select case when a.policy = 'none' then 0
                    when a.policy like 'fixed intervals=%'
                      then cardinality(string_to_array(substring(a.policy from 'intervals=([^ ]+)'), ','))
                    else substring(a.policy from 'max_retries=([0-9]+)')::integer end
          from dogged.task_attempts a
         where a.task_id = t.id and a.policy is not null and a.finished_at >= t.enqueued_at
         order by a.attempt desc limit 1) as max_retries,
       coalesce(t.snoozes, 0) as snoozes, t.unique_key,
       (select p.fraction from dogged.task_progress p where p.task_id = t.id and t.status <> 'succeeded') as progress,
       (select p.message from dogged.task_progress p where p.task_id = t.id and t.status <> 'succeeded') as progress_message,
       (select p.attempt from dogged.task_progress p where p.task_id = t.id and t.status <> 'succeeded') as progress_attempt,
       (select p.reported_at from dogged.task_progress p where p.task_id = t.id and t.status <> 'succeeded') as progress_at
  from dogged.tasks t;
comment on view dogged.task_overview is
  'One row for each task, with its state in words. Query one id, the newest tasks (order by id desc limit …), a status, or a short '
  'time by finished_at. A query by finished_at reads only the days in that time.';
comment on column dogged.task_overview.id is 'The task''s id.';
comment on column dogged.task_overview.name is 'The task''s name.';
comment on column dogged.task_overview.queue is 'The task''s queue.';
comment on column dogged.task_overview.status is
  'For programs: pending, running, succeeded, failed, discarded, cancelled or expired.';
comment on column dogged.task_overview.state is 'The same for people: why the task waits, or how it ended. Programs use status.';
comment on column dogged.task_overview.since is 'When the task entered that state.';
comment on column dogged.task_overview.next_run_at is 'When a pending task is due.';
comment on column dogged.task_overview.attempts is 'The number of attempts begun.';
comment on column dogged.task_overview.retry_count is 'Retries spent.';
comment on column dogged.task_overview.max_retries is
  'How many retries the policy allows that was applied last; null if none was applied yet. A policy that changes later changes '
  'nothing here before the next failure.';
comment on column dogged.task_overview.losses is 'Attempts that ended because their worker died.';
comment on column dogged.task_overview.snoozes is
  'Attempts that ended because the handler snoozed, since the task was enqueued or replayed.';
comment on column dogged.task_overview.unique_key is
  'The key of a unique task, as the producer gave it, or the hash of the args that it covers; null: the task is not unique.';
comment on column dogged.task_overview.progress is
  'The part that is done, 0 to 1, as a handler has said last (Context::progress); null: no handler has said so, or the task has succeeded.';
comment on column dogged.task_overview.progress_message is 'What that handler said of it.';
comment on column dogged.task_overview.progress_attempt is 'The attempt that said so.';
comment on column dogged.task_overview.progress_at is 'When it said so.';
comment on column dogged.task_overview.last_error_code is 'The error code of the last failed attempt.';
comment on column dogged.task_overview.last_error_message is 'The error message of the last failed attempt.';
comment on column dogged.task_overview.worker is 'The name of the worker that runs the task, or ran it last.';
comment on column dogged.task_overview.priority is 'Lower priorities run first.';
comment on column dogged.task_overview.args is
  'The enqueued args, without the values that the task''s definition hides (task_definitions.redact).';
comment on column dogged.task_overview.result is
  'The handler''s return value, without the values that the task''s definition hides.';
comment on column dogged.task_overview.enqueued_at is 'When the task was enqueued.';
comment on column dogged.task_overview.run_at is 'The first attempt does not begin before this time.';
comment on column dogged.task_overview.claimed_at is 'When a worker last claimed the task.';
comment on column dogged.task_overview.finished_at is 'When the task ended.';
comment on column dogged.task_overview.cancel_requested_at is 'When dogged.cancel was called while an attempt ran.';
comment on column dogged.task_overview.trace_context is 'The trace context, as the producer gave it.';
comment on column dogged.task_overview.tags is 'Words that the producer gave the task.';
comment on column dogged.task_overview.parent_id is 
  'The parent: the task of the handler that enqueued this one, or the task that the producer named. Null: none.';
comment on column dogged.task_overview.args_version is 'The version of the args.';

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
    select a.task_id, a.attempt, a.queue, a.outcome, a.started_at, a.finished_at
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
      from (select s.queue, case when s.outcome <> 'lost' then s.finished_at - s.started_at end as ran,
                   (select t.waited from dogged.task_timeline t
                     where t.task_id = s.task_id and t.attempt = s.attempt and t.finished_at = s.finished_at limit 1) as waited
              from sample s) s
     group by s.queue
  )
  select r.queue, r.attempts, r.ended_per_minute, r.failed_per_minute, r.retry_share, t.wait_p50, t.wait_p95, t.run_p50, t.run_p95
    from rates r left join times t on t.queue = r.queue
$$;
comment on function dogged.recent_figures() is
  'Internal: the figures of queue_stats on the attempts of the last five minutes, one row for each queue with such attempts.';

create or replace view dogged.queue_stats as
with depth as (
  select t.queue,
         count(*) filter (where t.status = 'pending' and coalesce(t.next_retry_at, t.run_at) <= now()) as ready,
         count(*) filter (where t.status = 'pending' and coalesce(t.next_retry_at, t.run_at) > now()) as waiting,
         count(*) filter (where t.status = 'running') as running,
         min(coalesce(t.next_retry_at, t.run_at))
           filter (where t.status = 'pending' and coalesce(t.next_retry_at, t.run_at) <= now()) as oldest_due_at,
         count(t.snoozes) as snoozed, max(t.snoozes) as most_snoozes
    from dogged.tasks_live t
   group by t.queue
)
select q.name as queue,
       coalesce(d.ready, 0) as ready, coalesce(d.waiting, 0) as waiting, coalesce(d.running, 0) as running,
       d.oldest_due_at, now() - d.oldest_due_at as oldest_due_age,
       coalesce(r.attempts, 0) as attempts, coalesce(r.ended_per_minute, 0) as ended_per_minute,
       coalesce(r.failed_per_minute, 0) as failed_per_minute, r.retry_share,
       r.wait_p50, r.wait_p95, r.run_p50, r.run_p95,
       coalesce(d.snoozed, 0) as snoozed, coalesce(d.most_snoozes, 0) as most_snoozes
  from dogged.queues q
  left join depth d on d.queue = q.name
  left join dogged.recent_figures() r on r.queue = q.name;
comment on view dogged.queue_stats is
  'One row for each queue: the tasks in it now, and the work of the last five minutes. Reads all live tasks, and the attempts of '
  'the last five minutes.';
comment on column dogged.queue_stats.queue is 'The queue''s name.';
comment on column dogged.queue_stats.ready is 'Pending tasks that are due.';
comment on column dogged.queue_stats.waiting is 'Pending tasks that wait for their time or for a retry.';
comment on column dogged.queue_stats.running is 'Tasks that a worker holds.';
comment on column dogged.queue_stats.oldest_due_at is 'When the ready task that waits longest fell due; null if no task is ready.';
comment on column dogged.queue_stats.oldest_due_age is 'How long ago that was.';
comment on column dogged.queue_stats.attempts is 'Attempts that ended in the last five minutes.';
comment on column dogged.queue_stats.ended_per_minute is
  'Tasks that ended in any way, per minute, over the last five minutes. Tasks that were cancelled before they ran are not counted.';
comment on column dogged.queue_stats.failed_per_minute is
  'Tasks that ended as failed or discarded, per minute, over the last five minutes.';
comment on column dogged.queue_stats.retry_share is
  'The share, from 0 to 1, of the attempts of the last five minutes that failed and are retried; null if there were no attempts.';
comment on column dogged.queue_stats.wait_p50 is
  'Half of the attempts began within this time after they were due. This column and the next three use all attempts of the last '
  'five minutes, up to 500 of the queue. With more attempts, the figures are estimates from about 500, spread evenly over the five '
  'minutes.';
comment on column dogged.queue_stats.wait_p95 is '95 of 100 attempts began within this time after they were due.';
comment on column dogged.queue_stats.run_p50 is
  'Half of the attempts took no longer than this. Lost ones do not count: their handlers ended with their worker, some time before the rescue.';
comment on column dogged.queue_stats.run_p95 is '95 of 100 attempts took no longer than this, as for run_p50.';

comment on column dogged.queue_stats.snoozed is 'Pending and running tasks that have snoozed.';
comment on column dogged.queue_stats.most_snoozes is
  'How often the task of these has snoozed that did so most often; 0 if there is none. A number that only grows is that of a task '
  'that waits in vain.';

create or replace view dogged.worker_stats as
select w.id, w.name,
       dogged.worker_state(w.lease_until, w.stop_began_at, w.lease_ended_at, w.stopped_at) as state,
       case when w.stopped_at is null and w.lease_ended_at is null then greatest(w.lease_until - now(), interval '0') end
         as lease_left,
       (select count(*)
          from dogged.tasks_live t
         where t.id = any (array(select unnest(c.task_ids) from dogged.claims c where c.worker_id = w.id))
           and t.worker_id = w.id and t.status = 'running') as running,
       coalesce(r.attempts, 0) as attempts, coalesce(r.failed, 0) as failed,
       w.fenced, w.abandoned_threads, w.asleep, w.queues, w.task_names, w.host, w.pid, w.version,
       w.started_at, w.heartbeat_at, w.lease_until, w.lease_ended_at, w.rescued_at, w.stopped_at, w.clock_ahead_ms,
       w.stop_began_at
  from dogged.workers w
  left join (select a.worker_id, count(*) as attempts, count(*) filter (where a.outcome in ('failed', 'timed_out')) as failed
               from dogged.task_attempts a
              where a.finished_at >= now() - interval '5 minutes'
              group by a.worker_id) r on r.worker_id = w.id
 where coalesce(w.stopped_at, w.lease_ended_at, now()) > now() - interval '1 day';
comment on view dogged.worker_stats is
  'One row for each run of a worker that has not ended, or ended in the last day. Attempts are those of the last five minutes. '
  '`dogged workers` shows the same.';
comment on column dogged.worker_stats.id is 'The worker: workers.id.';
comment on column dogged.worker_stats.name is 'The worker''s name.';
comment on column dogged.worker_stats.state is
  'live, stopping, lapsed, lost or stopped: see dogged.worker_state.';
comment on column dogged.worker_stats.lease_left is
  'How long until other workers may take its tasks; null if the worker is lost or stopped.';
comment on column dogged.worker_stats.running is 'Tasks that the worker holds now.';
comment on column dogged.worker_stats.attempts is 'Attempts of the worker that ended in the last five minutes.';
comment on column dogged.worker_stats.failed is 'Attempts of these that failed or timed out.';
comment on column dogged.worker_stats.fenced is
  'Reports of the whole process that did not count because the worker had lost the task. Do not add these numbers up over the runs '
  'of a process.';
comment on column dogged.worker_stats.abandoned_threads is 'Threads whose handler did not end when it was asked to stop.';
comment on column dogged.worker_stats.asleep is 'Whether the worker waits for a notification.';
comment on column dogged.worker_stats.queues is 'Concurrency by queue name.';
comment on column dogged.worker_stats.task_names is 'The names of the tasks that the worker knows.';
comment on column dogged.worker_stats.host is 'The host on which the worker runs.';
comment on column dogged.worker_stats.pid is 'The worker''s process id.';
comment on column dogged.worker_stats.version is 'The version of dogged that the worker was built with.';
comment on column dogged.worker_stats.started_at is 'When this run began.';
comment on column dogged.worker_stats.heartbeat_at is 'When the worker last renewed its lease.';
comment on column dogged.worker_stats.lease_until is 'When the lease lapses, unless the worker renews it.';
comment on column dogged.worker_stats.lease_ended_at is 'When the lease was ended.';
comment on column dogged.worker_stats.rescued_at is 'When no task was held under the ended lease any more.';
comment on column dogged.worker_stats.stopped_at is 'When the worker stopped in order.';
comment on column dogged.worker_stats.clock_ahead_ms is
  'By how many milliseconds the clock of the worker''s host is ahead of the server''s clock; null before the first heartbeat.';

comment on column dogged.worker_stats.stop_began_at is
  'Since when the worker claims nothing more, because it stops: its running tasks may finish.';

create or replace view dogged.error_stats as
select date_trunc('hour', a.finished_at) as hour, a.name, a.error_code,
       count(*) as attempts, count(*) filter (where a.will_retry) as retried, count(*) filter (where not a.will_retry) as ended,
       min(a.finished_at) as first_at, max(a.finished_at) as last_at, max(a.task_id) as example_task_id,
       min(left(a.error_message, 200)) as example_message
  from dogged.task_attempts a
 where a.error_code is not null and a.finished_at >= now() - interval '3 days'
 group by 1, 2, 3;
comment on view dogged.error_stats is
  'Errors of the last three days by hour, task name and code: attempts that failed, timed out, were cancelled or lost. Reads the '
  'attempts of these days. For a shorter time, query task_attempts with finished_at >= … (docs/cookbook.md).';
comment on column dogged.error_stats.hour is 'When the hour begins, in the session''s time zone.';
comment on column dogged.error_stats.name is 'The name of the tasks.';
comment on column dogged.error_stats.error_code is 'The error code of the attempts.';
comment on column dogged.error_stats.attempts is 'The number of attempts that ended with this error.';
comment on column dogged.error_stats.retried is 'Attempts after which the task is retried.';
comment on column dogged.error_stats.ended is 'Attempts that were the last of their task.';
comment on column dogged.error_stats.first_at is 'When the first of these attempts ended.';
comment on column dogged.error_stats.last_at is 'When the last of these attempts ended.';
comment on column dogged.error_stats.example_task_id is 'The task among these that was enqueued last.';
comment on column dogged.error_stats.example_message is 'The first 200 characters of one of the messages.';
