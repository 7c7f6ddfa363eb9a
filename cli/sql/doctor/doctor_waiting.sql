-- Due pending tasks by queue, name and version of their args. Each row tells whether a live worker serves the queue,
-- whether such a worker knows the name, and up to which version. Also whether the queue is paused, and in how long it
-- resumes by itself. overdue: the tasks still marked as waiting a minute after their due time. is_declared: a worker has
-- declared the name once.
-- gives: queue text, name text, due bigint, overdue bigint, oldest_us bigint, is_queue_served boolean
-- gives: is_name_known boolean, is_declared boolean, args_version int, known_args_version int?, is_paused boolean
-- gives: resumes_in_us bigint?
with live as materialized (
  select w.queues, w.task_names, w.args_versions
    from dogged.workers w
   where dogged.worker_state(w.lease_until, w.stop_began_at, w.lease_ended_at, w.stopped_at) = 'live'
)
select t.queue, t.name, count(*) as due, count(*) filter (where t.deferred and t.due_at < now() - interval '1 minute') as overdue,
       (extract(epoch from clock_timestamp() - min(t.due_at)) * 1000000)::bigint as oldest_us,
       exists (select from live where live.queues ? t.queue) as is_queue_served,
       exists (select from live where live.queues ? t.queue and t.name = any (live.task_names)) as is_name_known,
       exists (select from dogged.task_definitions d where d.name = t.name) as is_declared,
       t.args_version,
       (select max(coalesce((live.args_versions ->> t.name)::integer, 1)) from live
         where live.queues ? t.queue and t.name = any (live.task_names)) as known_args_version,
       exists (select from dogged.queues q
                where q.name = t.queue and q.paused_at is not null
                  and (q.paused_until is null or q.paused_until > clock_timestamp())) as is_paused,
       (select (extract(epoch from q.paused_until - clock_timestamp()) * 1000000)::bigint
          from dogged.queues q where q.name = t.queue) as resumes_in_us
  from (select queue, name, coalesce(args_version, 1) as args_version, deferred, coalesce(next_retry_at, run_at) as due_at
          from dogged.tasks_live where status = 'pending') as t
 where t.due_at <= now()
 group by t.queue, t.name, t.args_version
 order by t.queue, t.name, t.args_version
