-- Releases tasks that run under worker @worker_id in the database but that the worker does not know. The worker runs
-- this after the answer to a claim or a release was lost, in the claim session @claim_session that was begun since. The
-- worker knows attempts @known_attempts of tasks @known_ids. The statement does not release tasks that another
-- transaction has locked, but lists them in the result.
-- gives: id bigint, released boolean, cancel_requested boolean
with session as materialized (
  select from dogged.workers where id = @worker_id::bigint and claim_session = @claim_session::bigint for key share
), unknown as materialized (
  select t.id
    from dogged.tasks_live t
   where t.id = any (array(select unnest(c.task_ids) from dogged.claims c where c.worker_id = @worker_id::bigint))
     and t.worker_id = @worker_id::bigint and t.status = 'running' and exists (select from session)
     and (t.id, t.attempt) not in
         (select held.id, held.attempt from unnest(@known_ids::bigint[], @known_attempts::int[]) as held (id, attempt))
), free as materialized (
  select t.id
    from dogged.tasks_live t
   where t.id = any (array(select id from unknown))
     and t.worker_id = @worker_id::bigint and t.status = 'running'
   order by t.id
     for update skip locked
), released as (
  update dogged.tasks_live t
     set status = 'pending', attempt = t.attempt - 1, worker_id = null, claimed_at = null,
         ready_position = dogged.place_in_front()
   where t.id = any (array(select id from free))
  returning t.id, t.cancel_requested_at is not null as cancel_requested
)
select u.id, r.id is not null as released, coalesce(r.cancel_requested, false) as cancel_requested
  from unknown u
  left join released r on r.id = u.id
