-- For a filter of dead letters: an error where $1 is no regular expression (a table without rows would not tell), and what time
-- it is.
select '' ~ coalesce($1::text, '') as is_pattern, (extract(epoch from now()) * 1000000)::bigint as now_us
