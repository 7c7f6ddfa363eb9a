-- Names for shell completion, of the kind $1: queues, tasks, workers or circuits.
select named.word
  from (select q.name as word from dogged.queues q where $1::text = 'queues'
        union all
        select d.name from dogged.task_definitions d where $1::text = 'tasks'
        union all
        select w.name from dogged.workers w where $1::text = 'workers' and w.stopped_at is null and w.lease_ended_at is null
        union all
        select c.name from dogged.circuits c where $1::text = 'circuits') as named
 order by named.word
 limit 1000
