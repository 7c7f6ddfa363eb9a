-- How many locks a statement takes that looks for a task and its attempts by id and so at every day: one for each table and index.
-- And how many the server has room for, of all sessions together.
select (select count(distinct t.relid) + count(i.indexrelid) filter (where t.isleaf)
          from (select relid, isleaf from pg_partition_tree('dogged.tasks')
                 union all
                select relid, isleaf from pg_partition_tree('dogged.task_attempts')) t
          left join pg_index i on i.indrelid = t.relid) as locks_of_lookup,
       current_setting('max_locks_per_transaction')::bigint
       * (current_setting('max_connections')::bigint + current_setting('max_prepared_transactions')::bigint) as lock_room,
       current_setting('max_locks_per_transaction')::bigint as max_locks_per_transaction
