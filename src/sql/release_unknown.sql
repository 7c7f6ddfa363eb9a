-- After a claim whose answer was lost: gives back what runs under worker $1 without its knowing ($2 is what it holds).
update dogged.tasks_live t
   set status = 'pending', attempt = t.attempt - 1, worker_id = null, claimed_at = null
 where t.worker_id = $1::bigint and t.status = 'running' and t.id <> all ($2::bigint[])
