-- Up to 1000 tasks of the claims $2 that run under the ended lease of worker $1, with their definition's settings for
-- losses. Locked rows are skipped: another transaction is ending them.
select t.id, t.name, t.queue, t.attempt, t.retry_count, t.losses, t.cancel_requested_at is not null as cancel_requested,
       floor(extract(epoch from t.expires_at - clock_timestamp()) * 1000)::bigint as expires_in_ms, d.retry_lost,
       d.max_losses, d.dead_letter
  from dogged.tasks_live t
  left join dogged.task_definitions d on d.name = t.name
 where t.id = any (array(select unnest(c.task_ids) from dogged.claims c
                          where c.worker_id = $1::bigint and c.id = any ($2::bigint[])))
   and t.worker_id = $1::bigint and t.status = 'running'
 limit 1000
   for update of t skip locked
