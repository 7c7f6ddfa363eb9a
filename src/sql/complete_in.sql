-- Ends attempt $2 of task $1, held by worker $3, as succeeded with the result $4, after its handler has run for $5
-- microseconds: in the handler's own transaction.
select dogged.complete_in($1::bigint, $2::int, $3::bigint, $4::jsonb, $5::bigint)
