-- Wakes other sleeping workers, because worker $1 made tasks of the queues $2 ready that it may not claim itself.
select pg_notify('dogged.wake', '')
 where exists (select from dogged.workers w where w.asleep and w.id <> $1::bigint and w.queues ?| $2::text[])
