-- For each table with day partitions: how many coming days, without a gap, have partitions. And when the table's next day
-- is old enough to be dropped.
-- gives: parent text, days_ahead bigint, next_drop_us bigint?
with days as materialized (
  select p.parent, p.day, p.kept_until, p.is_kept and p.parent in ('task_attempts', 'task_steps') as goes_with_tasks from dogged.partitions p
)
select t.parent,
       (select coalesce(min(ahead) - 1, 61) from generate_series(1, 61) as ahead
         where not exists (select from days d where d.parent = t.parent and d.day = t.today + ahead))::bigint as days_ahead,
       (select (extract(epoch from min(d.kept_until)) * 1000000)::bigint from days d
         where d.parent = t.parent and not d.goes_with_tasks) as next_drop_us
  from (select unnest(array['tasks_done', 'tasks_failed', 'task_attempts', 'task_steps', 'schedule_ticks', 'events']) as parent,
               (now() at time zone 'UTC')::date as today) as t
 order by t.parent
