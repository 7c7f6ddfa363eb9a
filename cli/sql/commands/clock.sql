-- The database's time, from which the command line computes durations.
-- gives: now_us bigint
select (extract(epoch from clock_timestamp()) * 1000000)::bigint as now_us
