-- The time `microseconds` ago by the database's clock, but not before the claim. Workers report how long ago an event
-- was, not its time: so no client's clock is compared with the server's. A slow network makes the time later, never
-- earlier. The base is the start of the statement, because its transaction may have begun long before.
-- A body in SQL-standard form is bound when it is created, so that no search_path can change it, and it is inlined.
create or replace function dogged.moment_ago(claimed_at timestamptz, microseconds bigint) returns timestamptz
language sql stable return greatest(claimed_at, statement_timestamp() - microseconds * interval '1 microsecond');
comment on function dogged.moment_ago(timestamptz, bigint) is
  'Internal: statement_timestamp() less microseconds, but not before claimed_at: the time of an event that a worker timed after '
  'its claim.';
