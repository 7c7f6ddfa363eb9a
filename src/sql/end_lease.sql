-- Worker $1 gives up its own lease, which it could not keep, or had before it started itself anew: if that is still the process $2 on
-- the host $3, for a server that has taken over may have given the id to another. A claim under way is waited for.
with held as (
  select id from dogged.workers where id = $1::bigint and pid = $2::int and host = $3 and lease_ended_at is null for update
)
update dogged.workers w set lease_ended_at = clock_timestamp(), asleep = false from held where w.id = held.id
