-- The transactions that could have missed that this worker sleeps have ids before `next`. All of them have ended once
-- `oldest` has reached it. (The upper bound of a snapshot would not do: transactions with higher ids may be under way.)
select pg_snapshot_xmin(pg_current_snapshot())::text::bigint as oldest, pg_current_xact_id()::text::bigint as next
