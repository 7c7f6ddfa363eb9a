-- Marks worker @worker_id as rescued and deletes its claims, if no task is held under its ended lease any more.
-- gives: nothing
with rescued as (
  update dogged.workers
     set rescued_at = clock_timestamp()
   where id = @worker_id::bigint
     and not exists (select from dogged.tasks_live t
                      where t.id = any (array(select unnest(c.task_ids) from dogged.claims c
                                               where c.worker_id = @worker_id::bigint))
                        and t.worker_id = @worker_id::bigint and t.status = 'running')
  returning id
)
delete from dogged.claims c using rescued where c.worker_id = rescued.id
