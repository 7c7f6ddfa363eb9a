-- The benchmark is over.
do $$ begin execute format('drop schema if exists %I cascade', rtrim('dogged.', '.')); end $$
