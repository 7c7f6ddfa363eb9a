-- Dead letters that are there, by task: those of the last hour, and those of the 24 hours before it.
-- gives: name text, last_hour bigint, day_before bigint
select f.name, count(*) filter (where f.finished_at >= now() - interval '1 hour') as last_hour,
       count(*) filter (where f.finished_at < now() - interval '1 hour') as day_before
  from dogged.tasks_failed f
 where f.finished_at >= now() - interval '25 hours'
 group by f.name
 order by f.name
