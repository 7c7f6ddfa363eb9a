-- Runs before a producer's call is repeated, in the same transaction, after the producer's row was reserved. If the
-- call has taken effect after all, the statement returns the ids of its tasks. The statement waits for an earlier try
-- that is still running, and reads the result of that try.
-- gives: first bigint, last bigint
select lower(ids) as first, upper(ids) - 1 as last from unnest(dogged.call_made(@producer::uuid, @call::bigint)) as ids
