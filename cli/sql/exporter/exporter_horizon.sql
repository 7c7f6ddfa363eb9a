-- The first statement of a transaction that counts what is new: its snapshot, and the time. The next such transaction
-- counts what this snapshot does not see.
-- gives: snapshot text, at_us bigint
select pg_current_snapshot()::text as snapshot, (extract(epoch from now()) * 1000000)::bigint as at_us
