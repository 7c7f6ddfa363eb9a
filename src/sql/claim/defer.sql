-- Defers claimed tasks that were not started, because their circuit is open or the retry budget of their queue is
-- spent. Task @ids[i], attempt @attempts[i], waits for @waits_ms[i] milliseconds. No attempt is spent. Fenced like
-- release.sql, and by claim session @claim_session; the plan is pinned as there.
-- gives: id bigint, cancel_requested boolean
with session as materialized (
  select from dogged.workers where id = @worker_id::bigint and claim_session = @claim_session::bigint for key share
), held as materialized (
  select found.id, given.wait_ms
    from (select *
            from unnest(@ids::bigint[], @attempts::int[], @waits_ms::bigint[]) as given (id, attempt, wait_ms)
           order by id) given
   cross join lateral (
     select t.id
       from dogged.tasks_live t
      where t.id = given.id and t.attempt = given.attempt and t.worker_id = @worker_id::bigint and t.status = 'running'
        for update skip locked) found
   where exists (select from session)
)
update dogged.tasks_live t
   set status = 'pending', attempt = t.attempt - 1, worker_id = null, claimed_at = null, deferred = true,
       next_retry_at = clock_timestamp() + h.wait_ms * interval '1 millisecond'
  from held h
 where t.id = any (array[h.id])
returning t.id, t.cancel_requested_at is not null as cancel_requested
