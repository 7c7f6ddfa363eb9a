-- As call_made.sql, for a call that enqueues nothing: what call $2 of producer $1 has answered, if it has taken effect.
with last as materialized (
  select call, answer from dogged.producer_calls where producer = $1::uuid for update
)
select answer from last where call = $2::bigint
