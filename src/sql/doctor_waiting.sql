-- Pending tasks whose time has come, by queue and name: whether a live worker serves the queue, whether one knows the name, and how many
-- of them stand among the waiting ones a minute after their time.
with live as materialized (
  select queues, task_names from dogged.workers
   where stopped_at is null and lease_ended_at is null and lease_until > clock_timestamp()
)
select t.queue, t.name, count(*) as due, count(*) filter (where t.deferred and t.due_at < now() - interval '1 minute') as overdue,
       (extract(epoch from clock_timestamp() - min(t.due_at)) * 1000000)::bigint as oldest_us,
       exists (select from live where live.queues ? t.queue) as is_queue_served,
       exists (select from live where live.queues ? t.queue and t.name = any (live.task_names)) as is_name_known
  from (select queue, name, deferred, coalesce(next_retry_at, run_at) as due_at
          from dogged.tasks_live where status = 'pending') as t
 where t.due_at <= now()
 group by t.queue, t.name
 order by t.queue, t.name
