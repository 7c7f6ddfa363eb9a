-- The time `microseconds` ago by the database's clock, and never before the claim. Workers report how long ago things
-- were, not when: no client's clock is compared with the server's, and what a slow network adds makes a time later,
-- never earlier. By when the statement came, then, not its transaction, which may have begun long before.
-- A body in SQL-standard form is bound when it is created, so that no search_path can change it, and it is inlined.
create or replace function dogged.moment_ago(claimed_at timestamptz, microseconds bigint) returns timestamptz
language sql stable return greatest(claimed_at, statement_timestamp() - microseconds * interval '1 microsecond');
comment on function dogged.moment_ago(timestamptz, bigint) is
  'Internal: statement_timestamp() less microseconds, but not before claimed_at: when something happened that a worker '
  'timed after its claim.';
