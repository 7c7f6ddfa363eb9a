-- Releases claimed tasks that were never started; no attempt is spent. Fenced like complete.sql, and by claim session
-- @claim_session, because the same attempt may have been claimed again since. Tasks that another transaction has locked
-- are left as they are.
-- The lateral subquery pins the plan: each row is looked up by its key, in the order of ids. A join planned while the
-- table was empty may compare each task with each given id (docs/decisions/0001).
-- gives: id bigint, cancel_requested boolean
with session as materialized (
  select from dogged.workers where id = @worker_id::bigint and claim_session = @claim_session::bigint for key share
), held as materialized (
  select found.id
    from (select * from unnest(@ids::bigint[], @attempts::int[]) as given (id, attempt) order by id) given
   cross join lateral (
     select t.id
       from dogged.tasks_live t
      where t.id = given.id and t.attempt = given.attempt and t.worker_id = @worker_id::bigint and t.status = 'running'
        for update skip locked) found
   where exists (select from session)
)
update dogged.tasks_live t
   set status = 'pending', attempt = t.attempt - 1, worker_id = null, claimed_at = null,
       ready_position = dogged.place_in_front()
 where t.id = any (array(select id from held))
returning t.id, t.cancel_requested_at is not null as cancel_requested
