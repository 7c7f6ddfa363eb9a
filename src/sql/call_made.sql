-- Before call $2 of producer $1 is repeated, in the same transaction and after its row was reserved: the ids of its tasks, if it
-- has taken effect after all. Waits for a try that is still under way, and reads what that has left.
select lower(ids) as first, upper(ids) - 1 as last from unnest(dogged.call_made($1::uuid, $2::bigint)) as ids
