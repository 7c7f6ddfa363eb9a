-- The time `microseconds` after a claim, by the database's clock, and never later than the present. Workers report how
-- long things took, not when they happened: no client's clock is compared with the server's.
-- A body in SQL-standard form is bound when it is created, so that no search_path can change it, and it is inlined.
create or replace function dogged.moment_after(claimed_at timestamptz, microseconds bigint) returns timestamptz
language sql stable return least(now(), claimed_at + microseconds * interval '1 microsecond');
comment on function dogged.moment_after(timestamptz, bigint) is
  'claimed_at plus microseconds, but not later than now(): when something happened that a worker timed from its claim.';
