-- Replaces the claims of worker @worker_id from @from_claim on by one that lists the tasks @ids, the only tasks that
-- the worker holds. The worker runs it only when it knows the answer to every claim. No row if the lease was ended,
-- because rescuers need the former claims. No row either if the worker has begun another claim session than
-- @claim_session, so this statement is late.
-- Its commit does not wait for the disk: if the server crashes, the former claims come back and list more tasks than
-- the worker holds.
-- gives: id bigint
with lease as materialized (
  select from dogged.workers
   where id = @worker_id::bigint and claim_session = @claim_session::bigint and lease_ended_at is null
     for key share
), former as (
  delete from dogged.claims
   where worker_id = @worker_id::bigint and id >= @from_claim::bigint and exists (select from lease)
)
insert into dogged.claims (worker_id, task_ids)
select @worker_id::bigint, @ids::bigint[]
  from lease
 where set_config('synchronous_commit', 'off', true) = 'off'
returning id
