-- The tasks that worker @worker_id runs now, the longest-running first. The query finds the tasks by the worker's
-- claims, as in rescue.
-- gives: id bigint, name text, queue text, attempt bigint, claimed_at_us bigint, cancel_requested_at_us bigint?
select t.id, t.name, t.queue, t.attempt,
       (extract(epoch from t.claimed_at) * 1000000)::bigint as claimed_at_us,
       (extract(epoch from t.cancel_requested_at) * 1000000)::bigint as cancel_requested_at_us
  from dogged.tasks_live t
 where t.id = any (array(select unnest(c.task_ids) from dogged.claims c where c.worker_id = @worker_id::bigint))
   and t.worker_id = @worker_id::bigint and t.status = 'running'
 order by t.claimed_at, t.id
