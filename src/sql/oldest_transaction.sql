-- The id of the oldest transaction that is under way, or of the next one.
select pg_snapshot_xmin(pg_current_snapshot())::text::bigint as oldest
