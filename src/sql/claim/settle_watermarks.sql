-- Finds how far a worker can skip the places of ready tasks. Part i is queue @queues[i], after place @afters[i] up to
-- @uptos[i]. Only tasks count whose name is in @names and whose args have no later version than @versions has for that
-- name. `settled`: no counted task is or may become ready up to this place; null if that cannot be told yet. The answer
-- is known once all transactions before @next_transaction have ended, because these may have taken positions up to
-- @uptos without having committed. Each transaction takes its transaction id before its position. Tasks that become
-- ready later get later positions. A task that another transaction is claiming counts as ready, because that claim may
-- be rolled back. `next` belongs to the positions up to `last_position` of the previous call: a transaction that took
-- one of them has an id below `next`.
-- gives: queue text?, oldest bigint, next bigint, last_position bigint, settled bigint?
with bounds as materialized (
  select pg_snapshot_xmin(pg_current_snapshot())::text::bigint as oldest, pg_current_xact_id()::text::bigint as next
)
select part.queue, bounds.oldest, bounds.next, (select last_value from dogged.tasks_id_seq) as last_position,
       case when bounds.oldest >= @next_transaction::bigint then coalesce(first.place - 1, part.upto) end as settled
  from bounds
  left join unnest(@queues::text[], @afters::bigint[], @uptos::bigint[]) as part (queue, after, upto) on true
  left join lateral (
    select dogged.place(c.priority, c.ready_position, c.id) as place
      from dogged.tasks_live c
     where bounds.oldest >= @next_transaction::bigint and c.status = 'pending' and not c.deferred
       and hashtext(c.queue) = hashtext(part.queue) and c.queue = part.queue
       and dogged.place(c.priority, c.ready_position, c.id) > part.after
       and dogged.place(c.priority, c.ready_position, c.id) <= part.upto
       and c.name = any (@names::text[]) and c.attempt < 2147483647
       and (c.args_version is null or c.args_version <= (@versions::int[])[array_position(@names::text[], c.name)])
     order by hashtext(c.queue), dogged.place(c.priority, c.ready_position, c.id)
     limit 1) first on true
