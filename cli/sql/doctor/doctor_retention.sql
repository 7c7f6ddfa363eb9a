-- For how many days ended tasks are kept: in general (queue is null), and for each queue with its own setting. own_…:
-- the queue's setting; keep_…: the effective value.
-- gives: queue text?, keep_done_days bigint, keep_failed_days bigint, own_done_days bigint?, own_failed_days bigint?
select null as queue, s.keep_done_days, s.keep_failed_days, null::integer as own_done_days, null::integer as own_failed_days
  from dogged.settings s
 union all
select q.name, greatest(s.keep_done_days, q.keep_done_days), greatest(s.keep_failed_days, q.keep_failed_days), q.keep_done_days,
       q.keep_failed_days
  from dogged.queues q cross join dogged.settings s
 where q.keep_done_days is not null or q.keep_failed_days is not null
 order by queue nulls first
