-- Worker $1 ends in order: it claims nothing more. A claim under way is waited for.
with held as (
  select id from dogged.workers where id = $1::bigint and lease_ended_at is null for update
)
update dogged.workers w set stopped_at = clock_timestamp(), asleep = false from held where w.id = held.id
