-- Runs before call $2 of producer $1 is repeated, in the same transaction, after the producer's row was reserved. If
-- the call has taken effect after all, it returns the ids of its tasks. It waits for an earlier try that is still
-- running, and reads the result of that try.
select lower(ids) as first, upper(ids) - 1 as last from unnest(dogged.call_made($1::uuid, $2::bigint)) as ids
