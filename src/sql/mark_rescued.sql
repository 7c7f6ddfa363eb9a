-- Notes that nothing is left that was held under the ended lease of worker $1, if that is so, and forgets its claims.
with rescued as (
  update dogged.workers
     set rescued_at = clock_timestamp()
   where id = $1::bigint
     and not exists (select from dogged.tasks_live t
                      where t.id = any (array(select unnest(c.task_ids) from dogged.claims c
                                               where c.worker_id = $1::bigint))
                        and t.worker_id = $1::bigint and t.status = 'running')
  returning id
)
delete from dogged.claims c using rescued where c.worker_id = rescued.id
