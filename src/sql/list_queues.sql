-- Queues and what is in them now. Of failed and finished tasks there may be very many: they are not counted.
select q.name,
       count(t.id) filter (where t.status = 'pending' and coalesce(t.next_retry_at, t.run_at) <= now()) as ready,
       count(t.id) filter (where t.status = 'pending' and coalesce(t.next_retry_at, t.run_at) > now()) as waiting,
       count(t.id) filter (where t.status = 'running') as running,
       (extract(epoch from q.created_at) * 1000000)::bigint as created_at_us
  from dogged.queues q
  left join dogged.tasks_live t on t.queue = q.name
 group by q.name, q.created_at
 order by q.name
