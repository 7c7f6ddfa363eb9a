-- The queue and the due time of task @task_id, which was just enqueued. Times are microseconds since 1970.
-- gives: id bigint, queue text, run_at_us bigint, expires_at_us bigint?, enqueued_at_us bigint
select t.id, t.queue, (extract(epoch from t.run_at) * 1000000)::bigint as run_at_us,
       (extract(epoch from t.expires_at) * 1000000)::bigint as expires_at_us,
       (extract(epoch from t.enqueued_at) * 1000000)::bigint as enqueued_at_us
  from dogged.tasks t
 where t.id = @task_id::bigint
