-- Allows one rescuer at a time for the tasks of worker $1, until the transaction ends. No row: another rescuer has the
-- lock, or the rescue is done.
select id from dogged.workers
 where id = $1::bigint and lease_ended_at is not null and rescued_at is null
   for update skip locked
