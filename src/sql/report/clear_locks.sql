-- Rewrites tasks @ids of worker @worker_id whose xmax names a transaction that locked them and has ended. The statement
-- complete.sql skips such rows, because it cannot tell whether that transaction still holds the lock. The new row
-- version names only its writer, this transaction. Rows that are still locked are left as they are.
-- gives: nothing
update dogged.tasks_live
   set worker_id = worker_id
 where ctid = any (array(
         select ctid
           from dogged.tasks_live
          where id = any (@ids::bigint[]) and status = 'running' and worker_id = @worker_id::bigint
            and xmax not in ('0', xmin)
          order by id
            for update skip locked))
