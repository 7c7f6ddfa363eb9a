-- Cancels each of the tasks $1 once. It goes in the order of their ids, so that two such statements do not deadlock.
select asked.id, dogged.cancel(asked.id) as result
  from (select distinct given.id from unnest($1::bigint[]) as given (id) order by given.id) as asked
