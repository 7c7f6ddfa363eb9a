-- Notes that nothing is left that was held under the ended lease of worker $1, if that is so.
update dogged.workers
   set rescued_at = clock_timestamp()
 where id = $1::bigint
   and not exists (select from dogged.tasks_live t where t.worker_id = $1::bigint and t.status = 'running')
