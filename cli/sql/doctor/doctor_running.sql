-- Running tasks that no worker will end, by name: their worker is gone, or they have run for five minutes longer than
-- their timeout.
-- gives: name text, kind text, tasks bigint, first_id bigint, longest_us bigint
select t.name, case when w.id is null or w.rescued_at is not null then 'orphaned' else 'over_timeout' end as kind, count(*) as tasks,
       min(t.id) as first_id, (extract(epoch from clock_timestamp() - min(t.claimed_at)) * 1000000)::bigint as longest_us
  from dogged.tasks_live t
  left join dogged.workers w on w.id = t.worker_id
  left join dogged.task_definitions d on d.name = t.name
 where t.status = 'running'
   and (w.id is null or w.rescued_at is not null
        or t.claimed_at < clock_timestamp() - interval '5 minutes' - d.timeout_ms * interval '1 millisecond')
 group by 1, 2
 order by 1, 2
