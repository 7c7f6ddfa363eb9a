-- Polls for work. has_ready: whether a task is ready in queue @ready_queues[i], in the places after @afters[i] up to
-- @uptos[i]. Only tasks count whose name is in @names and whose args have no later version than @versions has for that
-- name.
-- due_in_ms: milliseconds until the earliest waiting task of the queues @queues is due; 0 if it is due already, null if
-- none waits.
-- Unlike a claim that finds nothing, the poll locks no row and writes nothing.
-- The poll requests a row lock that matches no row, so that a server that has become read-only refuses the statement.
-- The worker then looks for another server.
-- gives: has_ready boolean, due_in_ms bigint?
with writable as materialized (
  select from dogged.workers where id = 0 for update
)
select exists (
         select from unnest(@ready_queues::text[], @afters::bigint[], @uptos::bigint[]) as range (queue, after, upto)
          cross join lateral (
            select from dogged.tasks_live c
             where c.status = 'pending' and not c.deferred
               and hashtext(c.queue) = hashtext(range.queue) and c.queue = range.queue
               and dogged.place(c.priority, c.ready_position, c.id) > range.after
               and dogged.place(c.priority, c.ready_position, c.id) <= range.upto
               and c.name = any (@names::text[])
               and (c.args_version is null or c.args_version <= (@versions::int[])[array_position(@names::text[], c.name)])
             order by hashtext(c.queue), dogged.place(c.priority, c.ready_position, c.id)
             limit 1) ready) as has_ready,
       (select ceil(extract(epoch from min(greatest(due.at - clock_timestamp(), interval '0'))) * 1000)::bigint
          from unnest(@queues::text[]) as served (queue)
         cross join lateral (
           select coalesce(c.next_retry_at, c.run_at) as at
             from dogged.tasks_live c
            where c.deferred and hashtext(c.queue) = hashtext(served.queue) and c.queue = served.queue
            order by coalesce(c.next_retry_at, c.run_at)
            limit 1) due) as due_in_ms
 where not exists (select from writable)
