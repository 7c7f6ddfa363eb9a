-- Ends attempt $2 of task $1, held by worker $3, as succeeded with result $4. It runs in the handler's own transaction.
-- The handler has run for $5 microseconds.
select dogged.complete_in($1::bigint, $2::int, $3::bigint, $4::jsonb, $5::bigint)
