-- Defers claimed tasks that were not started, because their circuit is open or the retry budget of their queue is
-- spent: task $2[i], attempt $3[i], for $5[i] milliseconds. No attempt is spent. Fenced like release.sql, and by claim
-- session $4; the plan is pinned as there.
with session as materialized (
  select from dogged.workers where id = $1::bigint and claim_session = $4::bigint for key share
), held as materialized (
  select found.id, given.wait_ms
    from (select * from unnest($2::bigint[], $3::int[], $5::bigint[]) as given (id, attempt, wait_ms) order by id) given
   cross join lateral (
     select t.id
       from dogged.tasks_live t
      where t.id = given.id and t.attempt = given.attempt and t.worker_id = $1::bigint and t.status = 'running'
        for update skip locked) found
   where exists (select from session)
)
update dogged.tasks_live t
   set status = 'pending', attempt = t.attempt - 1, worker_id = null, claimed_at = null, deferred = true,
       next_retry_at = clock_timestamp() + h.wait_ms * interval '1 millisecond'
  from held h
 where t.id = any (array[h.id])
returning t.id, t.cancel_requested_at is not null as cancel_requested
