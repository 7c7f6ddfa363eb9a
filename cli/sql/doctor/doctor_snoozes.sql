-- Tasks that have snoozed and have not ended, by name; and of each name the task that has snoozed most often.
-- gives: name text, tasks bigint, most int, most_id bigint, max_snoozes int
select t.name, count(*) as tasks, max(t.snoozes) as most, (array_agg(t.id order by t.snoozes desc, t.id))[1] as most_id,
       coalesce(max(d.max_snoozes), 1000) as max_snoozes
  from dogged.tasks_live t
  left join dogged.task_definitions d on d.name = t.name
 where t.snoozes > 0
 group by t.name
 order by t.name
