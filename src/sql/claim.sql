-- Takes up to $3[i] ready tasks of queue $2[i], for worker $1 that knows the names $4, most urgent first.
-- The array of ctids pins the plan: a join with a LIMIT parameter became a hash join over the whole table.
-- A task with a name that is not in $4 is left for a worker that knows it.
update dogged.tasks_live t
   set status = 'running', attempt = t.attempt + 1, worker_id = $1::bigint, claimed_at = clock_timestamp(),
       next_retry_at = null
 where t.ctid = any (array(
         select ready.ctid
           from unnest($2::text[], $3::int[]) as wanted (queue, how_many)
          cross join lateral (
            select c.ctid
              from dogged.tasks_live c
             where c.status = 'pending' and not c.deferred and c.queue = wanted.queue and c.name = any ($4::text[])
             order by c.priority, c.id
             limit wanted.how_many
               for update skip locked) ready))
returning t.id, t.name, t.queue, t.priority, t.args::text as args, t.attempt, t.retry_count, t.losses, t.trace_context
