-- Whether there are workers whose lease was ended and whose tasks have not all been rescued; and in how many milliseconds the
-- next lease lapses, unless it is renewed: below zero if it has, null if there is none but that of worker $1.
-- It asks for a lock, of no row, so that a server which has become read-only refuses it: then the worker looks for another.
with writable as materialized (
  select from dogged.workers where id = 0 for update
)
select exists (select from dogged.workers where lease_ended_at is not null and rescued_at is null) as has_to_rescue,
       (select ceil(extract(epoch from min(lease_until) - clock_timestamp()) * 1000)::bigint
          from dogged.workers
         where lease_ended_at is null and id <> $1::bigint) as lapses_in_ms
 where not exists (select from writable)
