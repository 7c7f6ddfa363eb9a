-- In how many milliseconds the earliest waiting task of the queues $1 is due: 0 if it is already, null if none waits.
select ceil(extract(epoch from min(greatest(due.at - clock_timestamp(), interval '0'))) * 1000)::bigint as due_in_ms
  from unnest($1::text[]) as served (queue)
 cross join lateral (
   select coalesce(c.next_retry_at, c.run_at) as at
     from dogged.tasks_live c
    where c.deferred and c.queue = served.queue
    order by coalesce(c.next_retry_at, c.run_at)
    limit 1) due
