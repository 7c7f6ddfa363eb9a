-- Lets another benchmark begin at once. Without this statement PostgreSQL releases the lock of bench_begin.sql when the
-- session has ended, some milliseconds after the command.
-- gives: nothing
select pg_advisory_unlock(hashtextextended('dogged bench', 0))
