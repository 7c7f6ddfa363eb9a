-- Gives back claimed tasks that were never started: no attempt is spent. Fenced as complete.sql is, and by the claim session
-- $4: the same attempt may have been claimed again since.
with session as materialized (
  select from dogged.workers where id = $1::bigint and claim_session = $4::bigint for key share
)
update dogged.tasks_live t
   set status = 'pending', attempt = t.attempt - 1, worker_id = null, claimed_at = null
  from unnest($2::bigint[], $3::int[]) as given (id, attempt)
 where t.id = given.id and t.attempt = given.attempt and t.worker_id = $1::bigint and t.status = 'running'
   and exists (select from session)
returning t.id, t.cancel_requested_at is not null as cancel_requested
