-- Workers, the newest first: those that have not stopped, or, with $1, all; at most $2.
select w.id, w.name, w.host, w.pid, w.version, w.queues::text as queues, array_to_json(w.task_names)::text as task_names,
       w.stopped_at is null as running, w.asleep,
       (select count(*) from dogged.tasks_live t where t.worker_id = w.id and t.status = 'running') as running_tasks,
       (extract(epoch from w.started_at) * 1000000)::bigint as started_at_us,
       (extract(epoch from w.heartbeat_at) * 1000000)::bigint as heartbeat_at_us,
       (extract(epoch from w.stopped_at) * 1000000)::bigint as stopped_at_us,
       (extract(epoch from clock_timestamp()) * 1000000)::bigint as now_us
  from dogged.workers w
 where $1::boolean or w.stopped_at is null
 order by w.id desc
 limit $2::bigint
