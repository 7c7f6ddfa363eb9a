-- Allows one rescuer at a time for the tasks of worker @worker_id, until the transaction ends. No row: another rescuer
-- has the lock, or the rescue is done.
-- gives: id bigint
select id from dogged.workers
 where id = @worker_id::bigint and lease_ended_at is not null and rescued_at is null
   for update skip locked
