-- Cancels each of the tasks @ids once. The statement goes in the order of their ids, so that two such statements do not
-- deadlock.
-- gives: id bigint, result text
select asked.id, dogged.cancel(asked.id) as result
  from (select distinct given.id from unnest(@ids::bigint[]) as given (id) order by given.id) as asked
