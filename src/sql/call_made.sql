-- Before call $2 of producer $1 is repeated, in the same transaction and after its row was reserved: the ids of its tasks, if it
-- has taken effect after all. Waits for a try that is still under way, and reads what that has left.
with last as materialized (
  select call, task_ids from dogged.producer_calls where producer = $1::uuid for update
)
select unnest(task_ids) as id from last where call = $2::bigint
