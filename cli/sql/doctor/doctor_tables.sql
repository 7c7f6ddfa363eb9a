-- The tables that see updates: their row counts by the statistics, their size, and whether autovacuum may process them.
-- gives: name text, live_rows bigint, dead_rows bigint, bytes bigint, is_server_autovacuum_on boolean
-- gives: is_autovacuum_on boolean, vacuumed_us_ago bigint?
select c.relname::text as name, coalesce(st.n_live_tup, 0) as live_rows, coalesce(st.n_dead_tup, 0) as dead_rows,
       pg_relation_size(c.oid) as bytes,
       current_setting('autovacuum')::boolean and current_setting('track_counts')::boolean as is_server_autovacuum_on,
       not coalesce('autovacuum_enabled=false' = any (c.reloptions) or 'autovacuum_enabled=off' = any (c.reloptions), false)
         as is_autovacuum_on,
       (extract(epoch from clock_timestamp() - greatest(st.last_vacuum, st.last_autovacuum)) * 1000000)::bigint as vacuumed_us_ago
  from pg_class c
  left join pg_stat_all_tables st on st.relid = c.oid
 where c.oid in ('dogged.tasks_live'::regclass, 'dogged.claims'::regclass, 'dogged.workers'::regclass,
                 'dogged.producer_calls'::regclass)
 order by c.relname
