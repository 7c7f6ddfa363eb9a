-- Drops the benchmark's schema at its end.
-- gives: nothing
do $$ begin execute format('drop schema if exists %I cascade', rtrim('dogged.', '.')); end $$
