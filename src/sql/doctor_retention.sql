-- For how many days tasks are kept when they have ended: of all queues (queue is null), and of those that have days of their own.
-- own_…: what is set for the queue; keep_…: what comes of it.
select null as queue, s.keep_done_days, s.keep_failed_days, null::integer as own_done_days, null::integer as own_failed_days
  from dogged.settings s
 union all
select q.name, greatest(s.keep_done_days, q.keep_done_days), greatest(s.keep_failed_days, q.keep_failed_days), q.keep_done_days,
       q.keep_failed_days
  from dogged.queues q cross join dogged.settings s
 where q.keep_done_days is not null or q.keep_failed_days is not null
 order by queue nulls first
