-- The schema itself. The name is cut out of "dogged." so that another schema's name gets here like everywhere.
do $$ begin execute format('create schema if not exists %I', rtrim('dogged.', '.')); end $$
