-- Takes up to $3[i] ready tasks of queue $2[i], for worker $1 that knows the names $4, most urgent first.
-- Looks only where tasks may be ready (worker/watermarks.hpp): for the queue with the number $5[j], after the place $6[j], up
-- to $7[j]. Elsewhere stand the index entries of tasks that were claimed, dead but not yet removed while an old snapshot is
-- held.
-- The array of ctids pins the plan: a join with a LIMIT parameter became a hash join over the whole table.
-- What is picked is noted in dogged.claims, whence it is given back if the answer is lost or the worker dies.
-- A task with a name that is not in $4 is left for a worker that knows it.
-- What others have locked or claimed since this statement began is passed over. Where it is not a look at all of the queue ($9), that is
-- seen by xmax, which names who has locked or changed this version of a row last, where that is none of before the oldest transaction
-- that still runs (the age of nobody is the greatest); to try the lock costs more, and leaves a mark on a row that was claimed in between
-- (complete.sql). But he who is named may have ended: so a look at all tries.
-- `expires_in_ms`: how long from its claim on the task may begin, rounded down; null where it does not expire.
-- Fenced: nothing is claimed under a lease that was ended, nor can it be ended (end_leases) while this statement runs. Nor
-- does a claim count that arrives when the worker has begun another session ($8) because it was not answered.
with lease as materialized (
  select from dogged.workers
   where id = $1::bigint and claim_session = $8::bigint and lease_ended_at is null and stopped_at is null
     for key share
), picked as materialized (
  select ready.ctid, ready.id
    from unnest($2::text[], $3::int[], $9::int[]) with ordinality as wanted (queue, how_many, of_all, number)
   cross join lateral (
     select found.ctid, found.id
       from unnest($5::int[], $6::bigint[], $7::bigint[]) as range (number, after, upto)
      cross join lateral (
        select c.ctid, c.id
          from dogged.tasks_live c
         where c.status = 'pending' and not c.deferred and hashtext(c.queue) = hashtext(wanted.queue) and c.queue = wanted.queue
           and c.priority * 140737488355328 + coalesce(c.ready_position, c.id) > range.after
           and c.priority * 140737488355328 + coalesce(c.ready_position, c.id) <= range.upto
           and c.name = any ($4::text[])
           and (wanted.of_all = 1 or c.xmax = c.xmin
                or age(c.xmax) > (select age(pg_snapshot_xmin(pg_current_snapshot())::xid)))
         order by hashtext(c.queue), c.priority * 140737488355328 + coalesce(c.ready_position, c.id)
         limit wanted.how_many
           for update skip locked) found
      where range.number = wanted.number
      limit wanted.how_many) ready
   where exists (select from lease)
), noted as (
  insert into dogged.claims (worker_id, task_ids)
  select $1::bigint, array_agg(id) from picked having count(*) > 0
)
update dogged.tasks_live t
   set status = 'running', attempt = t.attempt + 1, worker_id = $1::bigint, claimed_at = clock_timestamp()
 where t.ctid = any (array(select ctid from picked))
returning t.id, t.name, t.queue, t.priority * 140737488355328 + coalesce(t.ready_position, t.id) as place, t.args::text as args, t.attempt, t.retry_count, t.losses, t.trace_context,
       floor(extract(epoch from t.expires_at - t.claimed_at) * 1000)::bigint as expires_in_ms
