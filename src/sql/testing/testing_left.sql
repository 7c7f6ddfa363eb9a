-- The first 1000 tasks of the queues @queues that have not ended, for the test kit's drain, in the order of their ids.
-- Due tasks come before tasks that wait for their time.
-- gives: id bigint, name text, queue text, is_running boolean, waits boolean, due_in_ms bigint, args_version int
-- gives: is_queue_paused boolean
select t.id, t.name, t.queue, t.status = 'running' as is_running,
       t.status = 'pending' and coalesce(t.next_retry_at, t.run_at) > clock_timestamp() as waits,
       ceil(extract(epoch from coalesce(t.next_retry_at, t.run_at) - clock_timestamp()) * 1000)::bigint as due_in_ms,
       coalesce(t.args_version, 1) as args_version,
       q.paused_at is not null and (q.paused_until is null or q.paused_until > clock_timestamp()) as is_queue_paused
  from dogged.tasks_live t
  join dogged.queues q on q.name = t.queue
 where t.queue = any (@queues::text[])
 order by waits, t.id
 limit 1000
