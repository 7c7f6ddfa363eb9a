-- Counts pending tasks of the names @names that no live worker can run. The tasks are in queues other than @queues, or
-- their args have a later version. No live worker that knows the tasks serves their queue. One row for each queue and
-- name, with the count and the latest version of the args. The statement looks at no more than @most tasks of each
-- queue, because a backlog may hold millions. `is_all` is false if there are more.
-- gives: queue text, name text, tasks bigint, args_version int?, is_all boolean
with live as materialized (
  select w.queues, w.task_names, w.args_versions from dogged.workers w
   where dogged.worker_state(w.lease_until, w.stop_began_at, w.lease_ended_at, w.stopped_at) = 'live'
)
select q.name as queue, t.name, count(*) as tasks, max(t.args_version) as args_version,
       min(t.seen) < @most::bigint as is_all
  from dogged.queues q
 cross join lateral (
   select l.name, l.status, l.args_version, count(*) over () as seen
     from ((select a.name, a.status, a.args_version from dogged.tasks_live a
             where not a.deferred and hashtext(a.queue) = hashtext(q.name) and a.queue = q.name limit @most::bigint)
           union all
           (select b.name, b.status, b.args_version from dogged.tasks_live b
             where b.deferred and hashtext(b.queue) = hashtext(q.name) and b.queue = q.name limit @most::bigint)
           limit @most::bigint) l) t
 where (q.name <> all (@queues::text[]) or t.args_version is not null) and t.status = 'pending'
   and t.name = any (@names::text[])
   and not exists (select from live
                    where live.queues ? q.name
                      and dogged.knows_task(live.task_names, live.args_versions, t.name, t.args_version))
 group by q.name, t.name
 order by q.name, t.name
