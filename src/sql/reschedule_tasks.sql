-- Gives the tasks $1 another time, $2 or, if that is null, now: each once, in the order of their ids, so that two such
-- statements do not wait for each other.
select asked.id, dogged.reschedule(asked.id, coalesce($2::timestamptz, now())) as result
  from (select distinct given.id from unnest($1::bigint[]) as given (id) order by given.id) as asked
