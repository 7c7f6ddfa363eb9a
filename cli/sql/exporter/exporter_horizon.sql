-- The snapshot of the transaction, and the time. The exporter asks for both before it counts rows. Its next transaction
-- counts the rows that this snapshot does not see.
-- gives: snapshot text, at_us bigint
select pg_current_snapshot()::text as snapshot, (extract(epoch from now()) * 1000000)::bigint as at_us
