-- Finds how far a worker can skip the places of ready tasks. Part i is queue $1[i], after place $2[i] up to $3[i]. Only
-- tasks count whose name is in $4 and whose args have no later version than $6 has for that name. `settled`: no counted
-- task is or may become ready up to this place; null if that cannot be told yet.
-- It can be told once all transactions before $5 have ended, because they may have taken positions up to $3 without
-- having committed. Each transaction takes its transaction id before its position. Tasks that become ready later get
-- later positions. A task that another transaction is claiming counts as ready, because that claim may be rolled back.
-- `next` belongs to the positions up to `last_position` of the previous call: a transaction that took one of them has
-- an id below `next`.
with bounds as materialized (
  select pg_snapshot_xmin(pg_current_snapshot())::text::bigint as oldest, pg_current_xact_id()::text::bigint as next
)
select part.queue, bounds.oldest, bounds.next, (select last_value from dogged.tasks_id_seq) as last_position,
       case when bounds.oldest >= $5::bigint then coalesce(first.place - 1, part.upto) end as settled
  from bounds
  left join unnest($1::text[], $2::bigint[], $3::bigint[]) as part (queue, after, upto) on true
  left join lateral (
    select dogged.place(c.priority, c.ready_position, c.id) as place
      from dogged.tasks_live c
     where bounds.oldest >= $5::bigint and c.status = 'pending' and not c.deferred and hashtext(c.queue) = hashtext(part.queue) and c.queue = part.queue
       and dogged.place(c.priority, c.ready_position, c.id) > part.after
       and dogged.place(c.priority, c.ready_position, c.id) <= part.upto
       and c.name = any ($4::text[]) and c.attempt < 2147483647
       and (c.args_version is null or c.args_version <= ($6::int[])[array_position($4::text[], c.name)])
     order by hashtext(c.queue), dogged.place(c.priority, c.ready_position, c.id)
     limit 1) first on true
