-- Transactions that could have missed that this worker sleeps have ids before `next`. All of them have ended once
-- `oldest` has reached that `next`. The upper bound of a snapshot cannot replace `next`: transactions with higher ids
-- may be running.
-- gives: oldest bigint, next bigint
select pg_snapshot_xmin(pg_current_snapshot())::text::bigint as oldest, pg_current_xact_id()::text::bigint as next
