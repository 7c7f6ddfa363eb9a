-- Checks a filter of dead letters: raises an error if $1 is not a regular expression, which a query on an empty table
-- would not do. Also returns the current time.
select '' ~ coalesce($1::text, '') as is_pattern, (extract(epoch from now()) * 1000000)::bigint as now_us
