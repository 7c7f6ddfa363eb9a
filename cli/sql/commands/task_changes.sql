-- The changes made to task $1 by hand, in order. Args that a replay replaced are left out, because they may hold values
-- to be redacted.
select a.actor, a.application, a.action, (a.details - 'args')::text as details,
       (extract(epoch from a.at) * 1000000)::bigint as at_us
  from dogged.audit a
 where a.task_id = $1::bigint
 order by a.id
