-- Names for shell completion, of the kind @kind: queues, tasks, workers, schedules or circuits.
-- gives: word text
select named.word
  from (select q.name as word from dogged.queues q where @kind::text = 'queues'
        union all
        select d.name from dogged.task_definitions d where @kind::text = 'tasks'
        union all
        select w.name from dogged.workers w where @kind::text = 'workers' and w.stopped_at is null and w.lease_ended_at is null
        union all
        select s.name from dogged.schedules s where @kind::text = 'schedules'
        union all
        select c.name from dogged.circuits c where @kind::text = 'circuits') as named
 order by named.word
 limit 1000
