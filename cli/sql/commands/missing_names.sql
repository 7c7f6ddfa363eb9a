-- Lists the names of @names that do not exist, in the given order. Kind @kind: queues, tasks, workers, schedules or circuits. A
-- worker may also be given by its id.
-- gives: name text
select asked.name
  from unnest(@names::text[]) with ordinality as asked (name, place)
 where not case @kind::text
           when 'queues' then exists (select from dogged.queues q where q.name = asked.name)
           when 'tasks' then exists (select from dogged.task_definitions d where d.name = asked.name)
           when 'workers' then exists (select from dogged.workers w where w.name = asked.name or w.id::text = asked.name)
           when 'schedules' then exists (select from dogged.schedules s where s.name = asked.name)
           else exists (select from dogged.circuits c where c.name = asked.name) end
 order by asked.place
