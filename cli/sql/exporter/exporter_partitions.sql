-- For each table with day partitions: how many coming days, without a gap, have partitions. And when the table's next day
-- is old enough to be dropped.
-- gives: parent text, days_ahead bigint, next_drop_us bigint?
with days as materialized (
  select p.parent, p.day, p.kept_until, p.is_kept and p.parent in ('task_attempts', 'task_steps') as goes_with_tasks from dogged.partitions p
), coming as (
  select d.parent, d.day - t.today as ahead, row_number() over (partition by d.parent order by d.day) as place
    from days d
   cross join (select (now() at time zone 'UTC')::date as today) as t
   where d.day > t.today
)
select t.parent,
       (select count(*) from coming c where c.parent = t.parent and c.ahead = c.place) as days_ahead,
       (select (extract(epoch from min(d.kept_until)) * 1000000)::bigint from days d
         where d.parent = t.parent and not d.goes_with_tasks) as next_drop_us
  from unnest(array['tasks_done', 'tasks_failed', 'task_attempts', 'task_steps', 'schedule_ticks', 'events']) as t (parent)
 order by t.parent
