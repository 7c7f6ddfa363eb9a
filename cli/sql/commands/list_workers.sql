-- Lists at most @most workers, the newest first: those that neither stopped nor were lost more than an hour ago.
-- With @all it lists all workers, with @word only workers of that name or id. A worker that stopped in order is not
-- lost, although its lease also ends later.
-- gives: id bigint, name text, host text, pid bigint, version text, queues jsonb, task_names text, state text
-- gives: asleep boolean, lease_ms bigint, fenced bigint, abandoned_threads bigint, clock_ahead_ms bigint?
-- gives: clock_uncertainty_ms bigint?, running_tasks bigint, started_at_us bigint, heartbeat_at_us bigint
-- gives: lease_until_us bigint, lease_ended_at_us bigint?, rescued_at_us bigint?, stop_began_at_us bigint?
-- gives: stopped_at_us bigint?, now_us bigint
select w.id, w.name, w.host, w.pid, w.version, w.queues::text as queues, array_to_json(w.task_names)::text as task_names,
       dogged.worker_state(w.lease_until, w.stop_began_at, w.lease_ended_at, w.stopped_at) as state,
       w.asleep, w.lease_ms, w.fenced, w.abandoned_threads, w.clock_ahead_ms, w.clock_uncertainty_ms,
       (select count(*)
          from dogged.tasks_live t
         where t.id = any (array(select unnest(c.task_ids) from dogged.claims c where c.worker_id = w.id))
           and t.worker_id = w.id and t.status = 'running') as running_tasks,
       (extract(epoch from w.started_at) * 1000000)::bigint as started_at_us,
       (extract(epoch from w.heartbeat_at) * 1000000)::bigint as heartbeat_at_us,
       (extract(epoch from w.lease_until) * 1000000)::bigint as lease_until_us,
       (extract(epoch from w.lease_ended_at) * 1000000)::bigint as lease_ended_at_us,
       (extract(epoch from w.rescued_at) * 1000000)::bigint as rescued_at_us,
       (extract(epoch from w.stop_began_at) * 1000000)::bigint as stop_began_at_us,
       (extract(epoch from w.stopped_at) * 1000000)::bigint as stopped_at_us,
       (extract(epoch from clock_timestamp()) * 1000000)::bigint as now_us
  from dogged.workers w
 where (@all::boolean
        or w.stopped_at is null and (w.lease_ended_at is null or w.lease_ended_at > now() - interval '1 hour'))
   and (@word::text? is null or w.name = @word or w.id::text = @word)
 order by w.id desc
 limit @most::bigint
