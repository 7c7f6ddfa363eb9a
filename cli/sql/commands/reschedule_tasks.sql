-- Reschedules each of the tasks $1 once, to $2 (null: now). It goes in the order of their ids, so that two such
-- statements do not deadlock.
select asked.id, dogged.reschedule(asked.id, coalesce($2::timestamptz, now())) as result
  from (select distinct given.id from unnest($1::bigint[]) as given (id) order by given.id) as asked
