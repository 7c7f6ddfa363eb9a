-- Wakes other sleeping workers that serve the queues of worker $2. Worker $1 has rescued tasks of worker $2 that it may
-- not claim itself.
select pg_notify('dogged.wake', '')
 where exists (select from dogged.workers w, dogged.workers lost
                where lost.id = $2::bigint and w.asleep and w.id <> $1::bigint
                  and w.queues ?| array(select jsonb_object_keys(lost.queues)))
