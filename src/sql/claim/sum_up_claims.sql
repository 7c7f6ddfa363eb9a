-- Replaces the claims of worker $1 from $3 on by one that lists the tasks $2, the only tasks that the worker holds. The
-- worker runs it only when it knows the answer to every claim. There is no row if the lease was ended, because rescuers
-- need the former claims. There is no row either if the worker has begun another claim session than $4, so that this
-- statement is late.
-- Its commit does not wait for the disk: if the server crashes, the former claims come back and list more tasks than
-- the worker holds.
with lease as materialized (
  select from dogged.workers where id = $1::bigint and claim_session = $4::bigint and lease_ended_at is null for key share
), former as (
  delete from dogged.claims where worker_id = $1::bigint and id >= $3::bigint and exists (select from lease)
)
insert into dogged.claims (worker_id, task_ids)
select $1::bigint, $2::bigint[]
  from lease
 where set_config('synchronous_commit', 'off', true) = 'off'
returning id
