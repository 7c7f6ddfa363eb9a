-- Checks a filter of dead letters: raises an error if @message is not a regular expression. A query on an empty table
-- would not raise that error. Also returns the current time.
-- gives: is_pattern boolean, now_us bigint
select '' ~ coalesce(@message::text?, '') as is_pattern, (extract(epoch from now()) * 1000000)::bigint as now_us
