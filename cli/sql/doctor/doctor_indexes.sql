-- Indexes of the schema that PostgreSQL does not use or does not maintain.
-- gives: name text, table_name text
select format('%I.%I', n.nspname, c.relname) as name, i.indrelid::regclass::text as table_name
  from pg_index i
  join pg_class c on c.oid = i.indexrelid
  join pg_namespace n on n.oid = c.relnamespace
 where c.relnamespace = (select relnamespace from pg_class where oid = 'dogged.tasks'::regclass)
   and not (i.indisvalid and i.indisready)
 order by 1
