-- Wakes other sleeping workers that serve the queues of worker @lost_worker_id. Worker @worker_id has rescued tasks of
-- worker @lost_worker_id that it may not claim itself.
-- gives: nothing
select pg_notify('dogged.wake', '')
 where exists (select from dogged.workers w, dogged.workers lost
                where lost.id = @lost_worker_id::bigint and w.asleep and w.id <> @worker_id::bigint
                  and w.queues ?| array(select jsonb_object_keys(lost.queues)))
