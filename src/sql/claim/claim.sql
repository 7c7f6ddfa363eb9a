-- Claims up to @how_many[i] ready tasks of queue @queues[i] for worker @worker_id, most urgent first. @names: the task
-- names that the worker knows. The claim skips a task whose name is not in @names, or whose args have a later version
-- than @versions has for that name.
--
-- The claim reads only places where tasks may be ready (worker/claim/core/watermarks.hpp): for queue number
-- @range_numbers[j], after place @afters[j] up to @uptos[j]. Other places have index entries of claimed tasks, which
-- are dead but cannot be removed while an old snapshot is held.
-- The array of ctids pins the plan: a join with a LIMIT parameter became a hash join over the whole table.
-- The picked ids are written to dogged.claims. If the answer is lost or the worker dies, the tasks are released by that
-- list.
--
-- The claim skips tasks that other transactions have locked or claimed since this statement began. Unless the claim
-- scans the whole queue (@of_all = 1), it recognizes them by xmax, the transaction that last locked or changed this row
-- version. A task qualifies if xmax is older than the oldest running transaction. An xmax of 0 has the greatest age, so
-- it qualifies. Trying the lock costs more, and leaves a mark on a row that was claimed in between (complete.sql). The
-- locking transaction may already have ended, so a full scan tries the lock anyway.
--
-- `expires_in_ms`: time from the claim within which the task may begin, rounded down; null if the task does not expire.
-- Fenced: a worker claims nothing under an ended lease, and end_leases cannot end the lease while this statement runs.
-- A late claim changes nothing once the worker, for lack of an answer, has begun another claim session than
-- @claim_session.
-- gives: id bigint, name text, queue text, place bigint, args jsonb, attempt int, retry_count int, losses int
-- gives: snoozes int?, trace_context text?, args_version int?, expires_in_ms bigint?
with lease as materialized (
  select from dogged.workers
   where id = @worker_id::bigint and claim_session = @claim_session::bigint
     and lease_ended_at is null and stopped_at is null
     for key share
), picked as materialized (
  select ready.ctid, ready.id
    from unnest(@queues::text[], @how_many::int[], @of_all::int[]) with ordinality
           as wanted (queue, how_many, of_all, number)
   cross join lateral (
     select found.ctid, found.id
       from unnest(@range_numbers::int[], @afters::bigint[], @uptos::bigint[]) as range (number, after, upto)
      cross join lateral (
        select c.ctid, c.id
          from dogged.tasks_live c
         where c.status = 'pending' and not c.deferred
           and hashtext(c.queue) = hashtext(wanted.queue) and c.queue = wanted.queue
           and dogged.place(c.priority, c.ready_position, c.id) > range.after
           and dogged.place(c.priority, c.ready_position, c.id) <= range.upto
           and c.name = any (@names::text[]) and c.attempt < 2147483647  -- one with no next attempt blocks no others
           and (c.args_version is null or c.args_version <= (@versions::int[])[array_position(@names::text[], c.name)])
           and (wanted.of_all = 1 or c.xmax = c.xmin
                or age(c.xmax) > (select age(pg_snapshot_xmin(pg_current_snapshot())::xid)))
         order by hashtext(c.queue), dogged.place(c.priority, c.ready_position, c.id)
         limit wanted.how_many
           for update skip locked) found
      where range.number = wanted.number
      limit wanted.how_many) ready
   where exists (select from lease)
), noted as (
  insert into dogged.claims (worker_id, task_ids)
  select @worker_id::bigint, array(select id from picked) where exists (select from picked)
)
update dogged.tasks_live t
   set status = 'running', attempt = t.attempt + 1, worker_id = @worker_id::bigint, claimed_at = clock_timestamp()
 where t.ctid = any (array(select ctid from picked))
returning t.id, t.name, t.queue, dogged.place(t.priority, t.ready_position, t.id) as place, t.args,
       t.attempt, t.retry_count, t.losses, t.snoozes, t.trace_context, t.args_version,
       floor(extract(epoch from t.expires_at - t.claimed_at) * 1000)::bigint as expires_in_ms
