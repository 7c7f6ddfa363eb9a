-- Makes the tasks of the queues @queues that are not due yet ready now, for the test kit's drain, in the order of their
-- ids. An expired task is left to end as expired.
-- gives: nothing
select dogged.reschedule(waiting.id, now()) as answer
  from (select t.id
          from dogged.tasks_live t
         where t.queue = any (@queues::text[]) and t.status = 'pending' and coalesce(t.next_retry_at, t.run_at) > now()
           and (t.expires_at is null or t.expires_at > now())
         order by t.id
        offset 0) as waiting
