-- Ends the lease of the worker named @name if it has lapsed, like end_leases.sql.
-- gives: nothing
with lapsed as (
  select id from dogged.workers
   where name = @name::text and lease_ended_at is null and stopped_at is null and lease_until < clock_timestamp()
     for update skip locked
)
update dogged.workers w set lease_ended_at = clock_timestamp(), asleep = false from lapsed where w.id = lapsed.id
