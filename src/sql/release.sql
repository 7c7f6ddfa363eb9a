-- Gives back claimed tasks that were never started: no attempt is spent. Fenced as complete.sql is, and by the claim session
-- $4: the same attempt may have been claimed again since. What is locked by somebody is left as it is.
with session as materialized (
  select from dogged.workers where id = $1::bigint and claim_session = $4::bigint for key share
), held as materialized (
  select t.id
    from unnest($2::bigint[], $3::int[]) as given (id, attempt)
    join dogged.tasks_live t on t.id = given.id and t.attempt = given.attempt
   where t.worker_id = $1::bigint and t.status = 'running'
     and exists (select from session)
   order by t.id
     for update of t skip locked
)
update dogged.tasks_live t
   set status = 'pending', attempt = t.attempt - 1, worker_id = null, claimed_at = null,
       ready_position = dogged.place_in_front()
 where t.id = any (array(select id from held))
returning t.id, t.cancel_requested_at is not null as cancel_requested
