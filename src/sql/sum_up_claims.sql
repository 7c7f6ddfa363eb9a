-- Worker $1 holds the tasks $2 and no others: replaces its claims from $3 on by one that says so. To be run when the answer
-- to every claim is known. No row: its lease was ended, and rescuers go by its claims; or it has begun another claim session
-- than $4, and this arrives late.
-- Its commit does not wait for the disk: if the server crashes, the former claims are there again, and say more than is so.
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
