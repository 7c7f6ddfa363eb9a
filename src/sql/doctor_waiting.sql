-- Pending tasks whose time has come, by queue and name: whether a live worker serves the queue, whether one knows the name, whether the
-- queue is paused and in how long it goes on by itself, and how many of them stand among the waiting ones a minute after their
-- time.
with live as materialized (
  select queues, task_names from dogged.workers
   where stopped_at is null and lease_ended_at is null and lease_until > clock_timestamp()
)
select t.queue, t.name, count(*) as due, count(*) filter (where t.deferred and t.due_at < now() - interval '1 minute') as overdue,
       (extract(epoch from clock_timestamp() - min(t.due_at)) * 1000000)::bigint as oldest_us,
       exists (select from live where live.queues ? t.queue) as is_queue_served,
       exists (select from live where live.queues ? t.queue and t.name = any (live.task_names)) as is_name_known,
       exists (select from dogged.queues q
                where q.name = t.queue and q.paused_at is not null
                  and (q.paused_until is null or q.paused_until > clock_timestamp())) as is_paused,
       (select (extract(epoch from q.paused_until - clock_timestamp()) * 1000000)::bigint
          from dogged.queues q where q.name = t.queue) as resumes_in_us
  from (select queue, name, deferred, coalesce(next_retry_at, run_at) as due_at
          from dogged.tasks_live where status = 'pending') as t
 where t.due_at <= now()
 group by t.queue, t.name
 order by t.queue, t.name
