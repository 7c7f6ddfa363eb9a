-- Wakes other sleeping workers, because worker @worker_id made tasks of the queues @queues ready that it may not claim
-- itself.
-- gives: nothing
select pg_notify('dogged.wake', '')
 where exists (select from dogged.workers w where w.asleep and w.id <> @worker_id::bigint and w.queues ?| @queues::text[])
