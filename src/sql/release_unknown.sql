-- After a claim or a release whose answer was lost, and in a new claim session: gives back what runs under worker $1 without
-- its knowing. It holds the attempts $3 of the tasks $2.
update dogged.tasks_live t
   set status = 'pending', attempt = t.attempt - 1, worker_id = null, claimed_at = null
 where t.worker_id = $1::bigint and t.status = 'running'
   and not exists (select from unnest($2::bigint[], $3::int[]) as held (id, attempt)
                    where held.id = t.id and held.attempt = t.attempt)
returning t.id, t.cancel_requested_at is not null as cancel_requested
