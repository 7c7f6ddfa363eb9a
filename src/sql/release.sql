-- Gives back claimed tasks that were never started: no attempt is spent. Fenced as complete.sql is.
update dogged.tasks_live t
   set status = 'pending', attempt = t.attempt - 1, worker_id = null, claimed_at = null
  from unnest($2::bigint[], $3::int[]) as given (id, attempt)
 where t.id = given.id and t.attempt = given.attempt and t.worker_id = $1::bigint and t.status = 'running'
returning t.id
