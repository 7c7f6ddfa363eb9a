-- Allows one benchmark at a time in a database, as long as this session lives. is_ours: whether a benchmark created the
-- schema.
-- gives: locked boolean, present boolean, is_ours boolean?
select pg_try_advisory_lock(hashtextextended('dogged bench', 0)) as locked,
       exists (select from pg_namespace where nspname = rtrim('dogged.', '.')) as present,
       (select obj_description(oid, 'pg_namespace') = 'made by dogged bench'
          from pg_namespace where nspname = rtrim('dogged.', '.')) as is_ours
