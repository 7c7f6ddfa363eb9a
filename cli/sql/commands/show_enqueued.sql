-- The queue and the due time of task $1, which was just enqueued. Times are microseconds since 1970.
select t.id, t.queue, (extract(epoch from t.run_at) * 1000000)::bigint as run_at_us,
       (extract(epoch from t.expires_at) * 1000000)::bigint as expires_at_us,
       (extract(epoch from t.enqueued_at) * 1000000)::bigint as enqueued_at_us
  from dogged.tasks t
 where t.id = $1::bigint
