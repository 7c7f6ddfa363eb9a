-- Cancels the tasks $1, each once. In the order of their ids, so that two such statements do not wait for each other.
select asked.id, dogged.cancel(asked.id) as result
  from (select distinct given.id from unnest($1::bigint[]) as given (id) order by given.id) as asked
