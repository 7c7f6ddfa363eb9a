-- Where the tasks $1 stand, those that are there. Times are microseconds since 1970.
select t.id, t.name, t.status, w.name as worker,
       (extract(epoch from t.finished_at) * 1000000)::bigint as finished_at_us,
       (extract(epoch from clock_timestamp()) * 1000000)::bigint as now_us
  from dogged.tasks t
  left join dogged.workers w on w.id = t.worker_id
 where t.id = any ($1::bigint[])
