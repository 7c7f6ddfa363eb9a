-- The statuses of the tasks @ids that exist, with the results of ended tasks. Times are microseconds since 1970.
-- gives: id bigint, name text, status dogged.task_status, attempt int, worker text?, error_code text?
-- gives: error_message text?, result jsonb?, due_at_us bigint?, finished_at_us bigint?, now_us bigint
select t.id, t.name, t.status, t.attempt, w.name as worker, t.error_code, t.error_message,
       t.result::text as result,
       case when t.status = 'pending'
            then (extract(epoch from coalesce(t.next_retry_at, t.run_at)) * 1000000)::bigint end as due_at_us,
       (extract(epoch from t.finished_at) * 1000000)::bigint as finished_at_us,
       (extract(epoch from clock_timestamp()) * 1000000)::bigint as now_us
  from dogged.redacted_tasks t
  left join dogged.workers w on w.id = t.worker_id
 where t.id = any (@ids::bigint[])
