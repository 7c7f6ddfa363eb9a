-- How far in each part of the ready tasks ($1: queues, after the places $2 up to the places $3) there is no task with a
-- name in $4 that is or may become ready: `settled`, null where that cannot be told yet.
-- It can be told once all transactions before $5 have ended, which may have taken a position up to those in $3, and have
-- not committed: whoever takes one has a transaction id first, and what becomes ready later gets a later position. What
-- somebody claims at this moment counts as ready, for the claim may be undone.
-- `next` is for the positions up to `last_position` of the call before: who had taken one of them has an id below it.
with bounds as materialized (
  select pg_snapshot_xmin(pg_current_snapshot())::text::bigint as oldest, pg_current_xact_id()::text::bigint as next
)
select part.queue, bounds.oldest, bounds.next, (select last_value from dogged.tasks_id_seq) as last_position,
       case when bounds.oldest >= $5::bigint then coalesce(first.place - 1, part.upto) end as settled
  from bounds
  left join unnest($1::text[], $2::bigint[], $3::bigint[]) as part (queue, after, upto) on true
  left join lateral (
    select c.priority * 140737488355328 + coalesce(c.ready_position, c.id) as place
      from dogged.tasks_live c
     where bounds.oldest >= $5::bigint and c.status = 'pending' and not c.deferred and hashtext(c.queue) = hashtext(part.queue) and c.queue = part.queue
       and c.priority * 140737488355328 + coalesce(c.ready_position, c.id) > part.after
       and c.priority * 140737488355328 + coalesce(c.ready_position, c.id) <= part.upto
       and c.name = any ($4::text[])
     order by hashtext(c.queue), c.priority * 140737488355328 + coalesce(c.ready_position, c.id)
     limit 1) first on true
