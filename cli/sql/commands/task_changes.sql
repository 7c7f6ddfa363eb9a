-- The changes made to task @task_id by hand, in order. Args that a replay replaced are left out, because they may
-- hold values to be redacted.
-- gives: actor text, application text, action text, details jsonb, at_us bigint
select a.actor, a.application, a.action, (a.details - 'args')::text as details,
       (extract(epoch from a.at) * 1000000)::bigint as at_us
  from dogged.audit a
 where a.task_id = @task_id::bigint
 order by a.id
