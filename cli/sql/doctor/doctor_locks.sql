-- The number of locks that a lookup of a task and its attempts by id takes. The lookup locks each table and index,
-- because it must look at every day. Also the number of locks that the server has room for, over all sessions.
-- gives: locks_of_lookup bigint, lock_room bigint, max_locks_per_transaction bigint
select (select count(distinct t.relid) + count(i.indexrelid) filter (where t.isleaf)
          from (select relid, isleaf from pg_partition_tree('dogged.tasks')
                 union all
                select relid, isleaf from pg_partition_tree('dogged.task_attempts')) t
          left join pg_index i on i.indrelid = t.relid) as locks_of_lookup,
       current_setting('max_locks_per_transaction')::bigint
       * (current_setting('max_connections')::bigint + current_setting('max_prepared_transactions')::bigint) as lock_room,
       current_setting('max_locks_per_transaction')::bigint as max_locks_per_transaction
