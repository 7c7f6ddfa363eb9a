-- The id of the oldest running transaction; if none is running, the id of the next one.
-- gives: oldest bigint
select pg_snapshot_xmin(pg_current_snapshot())::text::bigint as oldest
