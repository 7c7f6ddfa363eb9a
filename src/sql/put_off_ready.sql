-- Puts off ready tasks of queue $1 with the names $2, because their circuit $3 is open: those among the first 1000 of the
-- queue from the place $4 on. No worker holds them, so that no attempt is touched. They wait until the circuit may be
-- half-open, and a random part of its recovery_timeout more, so that they do not come back at once.
with circuit as materialized (
  select recovery_timeout_ms,
         case when is_forced then recovery_timeout_ms
              else greatest(recovery_timeout_ms - (extract(epoch from clock_timestamp() - since) * 1000)::bigint, 0) end as wait_ms
    from dogged.circuits
   where name = $3 and state = 'open'
), bound as materialized (  -- so that tasks of other names, which are not locked, are not searched through without end
  select max(ahead.place) as place
    from (select t.priority * 140737488355328 + coalesce(t.ready_position, t.id) as place
            from dogged.tasks_live t
           where t.status = 'pending' and not t.deferred and hashtext(t.queue) = hashtext($1) and t.queue = $1
             and t.priority * 140737488355328 + coalesce(t.ready_position, t.id) >= $4::bigint
           order by hashtext(t.queue), t.priority * 140737488355328 + coalesce(t.ready_position, t.id)
           limit 1000) ahead
   where exists (select from circuit)
), ready as materialized (
  select t.ctid
    from dogged.tasks_live t
   where t.status = 'pending' and not t.deferred and hashtext(t.queue) = hashtext($1) and t.queue = $1 and t.name = any ($2::text[])
     and t.priority * 140737488355328 + coalesce(t.ready_position, t.id) >= $4::bigint
     and t.priority * 140737488355328 + coalesce(t.ready_position, t.id) <= (select place from bound)
     for update of t skip locked
)
update dogged.tasks_live t
   set deferred = true,
       next_retry_at = clock_timestamp() + (c.wait_ms + random() * c.recovery_timeout_ms) * interval '1 millisecond'
  from circuit c
 where t.ctid = any (array(select ctid from ready))
