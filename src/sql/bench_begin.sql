-- One benchmark at a time in a database, for as long as this session lives; and whose the schema is that it would work in.
select pg_try_advisory_lock(hashtextextended('dogged bench', 0)) as locked,
       exists (select from pg_namespace where nspname = rtrim('dogged.', '.')) as present,
       (select obj_description(oid, 'pg_namespace') = 'made by dogged bench'
          from pg_namespace where nspname = rtrim('dogged.', '.')) as is_ours
