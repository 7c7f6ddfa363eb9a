-- Reschedules each of the tasks @ids once, to @at (null: now). The statement goes in the order of their ids, so that
-- two such statements do not deadlock.
-- gives: id bigint, result text
select asked.id, dogged.reschedule(asked.id, coalesce(@at::timestamptz?, now())) as result
  from (select distinct given.id from unnest(@ids::bigint[]) as given (id) order by given.id) as asked
