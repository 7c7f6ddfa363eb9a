-- Makes due waiting tasks of the queues @queues ready, up to 1000 a queue, the earliest first.
-- Its commit does not wait for the disk: if the server crashes, the tasks fall due again. A crash cannot make a task
-- run twice either. A later claim is written to the log after this commit, and that claim waits for the disk.
-- gives: nothing
update dogged.tasks_live t
   set deferred = false, ready_position = nextval('dogged.tasks_id_seq')
 where t.ctid = any (array(
         select due.ctid
           from unnest(@queues::text[]) as served (queue)
          cross join lateral (
            select c.ctid
              from dogged.tasks_live c
             where c.deferred and hashtext(c.queue) = hashtext(served.queue) and c.queue = served.queue
               and coalesce(c.next_retry_at, c.run_at) <= now()
             order by coalesce(c.next_retry_at, c.run_at)
             limit 1000
               for update skip locked) due))
   and (select set_config('synchronous_commit', 'off', true)) = 'off'
