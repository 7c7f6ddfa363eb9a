-- Defers ready tasks of queue @queue because their circuit @circuit is open. Only tasks with a name in @names are
-- deferred, with args of no later version than @versions has for that name. The statement looks at the first 1000 tasks
-- of the queue from place @from_place on. No worker holds these tasks, so no attempt is touched. The tasks wait until
-- the circuit may be half-open, plus a random part of its recovery_timeout. This jitter keeps the tasks from all
-- returning at once.
-- gives: nothing
with circuit as materialized (
  select recovery_timeout_ms,
         case when is_forced then recovery_timeout_ms
              -- The clock may have been set back.
              else least(greatest(recovery_timeout_ms - (extract(epoch from clock_timestamp() - since) * 1000)::bigint, 0),
                         recovery_timeout_ms) end as wait_ms
    from dogged.circuits
   where name = @circuit::text and state = 'open'
), bound as materialized (  -- bounds the scan over tasks of other names, which are not locked
  select max(ahead.place) as place
    from (select dogged.place(t.priority, t.ready_position, t.id) as place
            from dogged.tasks_live t
           where t.status = 'pending' and not t.deferred and hashtext(t.queue) = hashtext(@queue::text) and t.queue = @queue
             and dogged.place(t.priority, t.ready_position, t.id) >= @from_place::bigint
           order by hashtext(t.queue), dogged.place(t.priority, t.ready_position, t.id)
           limit 1000) ahead
   where exists (select from circuit)
), ready as materialized (
  select t.ctid
    from dogged.tasks_live t
   where t.status = 'pending' and not t.deferred and hashtext(t.queue) = hashtext(@queue) and t.queue = @queue
     and t.name = any (@names::text[])
     and (t.args_version is null or t.args_version <= (@versions::int[])[array_position(@names::text[], t.name)])
     and dogged.place(t.priority, t.ready_position, t.id) >= @from_place::bigint
     and dogged.place(t.priority, t.ready_position, t.id) <= (select place from bound)
     for update of t skip locked
)
update dogged.tasks_live t
   set deferred = true,
       next_retry_at = clock_timestamp() + (c.wait_ms + random() * c.recovery_timeout_ms) * interval '1 millisecond'
  from circuit c
 where t.ctid = any (array(select ctid from ready))
