-- Worker $1 gives up its own lease, which it could not keep. A claim under way is waited for.
with held as (
  select id from dogged.workers where id = $1::bigint and lease_ended_at is null for update
)
update dogged.workers w set lease_ended_at = clock_timestamp(), asleep = false from held where w.id = held.id
