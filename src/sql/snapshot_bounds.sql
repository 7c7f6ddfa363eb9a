-- The transactions that could have missed that this worker sleeps: all of them have ended once `oldest` is at least the
-- `next` that was read after fall_asleep.
select pg_snapshot_xmin(s.snapshot)::text::bigint as oldest, pg_snapshot_xmax(s.snapshot)::text::bigint as next
  from pg_current_snapshot() as s (snapshot)
