-- Lists tasks, the newest first. A null parameter does not filter.
--
-- The query searches at most @searched tasks, in the partitions of the statuses @partition_statuses (every status of
-- these partitions is named). The searched tasks have not ended, or ended at @ended_since or later. Their ids are from
-- @from_id to below @below_id, or among the ids @ids. Partitions and their indexes on id decide all of these
-- conditions. So a filter that few tasks pass does not make the query read the whole history.
--
-- Of the searched tasks the query lists at most @most that pass all filters. A task has a status of @statuses, a queue
-- of @queues, a name like one of @names, and an error code of @error_codes. @workers are ids or names. @enqueued_after,
-- @finished_after and the like are times, each range without its end. The redacted args contain @args. The task has all
-- tags of @tags.
--
-- The children of task @parent are found by an index, so their search needs no bound.
-- gives: id bigint, status dogged.task_status, queue text, name text, priority int, args jsonb, attempt int
-- gives: retry_count int, losses int, snoozes int, worker_id bigint?, worker text?, result jsonb?, error_code text?
-- gives: error_message text?, trace_context text?, parent_id bigint?, args_version int, unique_key text?, tags text
-- gives: enqueued_at_us bigint, run_at_us bigint, next_retry_at_us bigint?, expires_at_us bigint?
-- gives: claimed_at_us bigint?, cancel_requested_at_us bigint?, finished_at_us bigint?, now_us bigint
-- gives: is_queue_paused boolean, queue_paused_until_us bigint?, progress float8?, progress_message text?
-- gives: progress_attempt int?, progress_at_us bigint?, waits_for text?, waits_for_name text?, waits_until_us bigint?
select t.id, t.status, t.queue, t.name, t.priority, t.args::text as args, t.attempt, t.retry_count, t.losses,
       coalesce(t.snoozes, 0) as snoozes, t.worker_id, w.name as worker, t.result::text as result, t.error_code, t.error_message, t.trace_context,
       t.parent_id, coalesce(t.args_version, 1) as args_version, t.unique_key,
       to_json(coalesce(t.tags, '{}'))::text as tags,
       (extract(epoch from t.enqueued_at) * 1000000)::bigint as enqueued_at_us,
       (extract(epoch from t.run_at) * 1000000)::bigint as run_at_us,
       case when t.status = 'pending' then (extract(epoch from t.next_retry_at) * 1000000)::bigint end as next_retry_at_us,
       (extract(epoch from t.expires_at) * 1000000)::bigint as expires_at_us,
       (extract(epoch from t.claimed_at) * 1000000)::bigint as claimed_at_us,
       (extract(epoch from t.cancel_requested_at) * 1000000)::bigint as cancel_requested_at_us,
       (extract(epoch from t.finished_at) * 1000000)::bigint as finished_at_us,
       (extract(epoch from clock_timestamp()) * 1000000)::bigint as now_us,
       coalesce(q.paused_at is not null and (q.paused_until is null or q.paused_until > clock_timestamp()), false) as is_queue_paused,
       (extract(epoch from q.paused_until) * 1000000)::bigint as queue_paused_until_us,
       p.fraction as progress, p.message as progress_message, p.attempt as progress_attempt,
       (extract(epoch from p.reported_at) * 1000000)::bigint as progress_at_us,
       coalesce(v.waits_for, z.waits_for) as waits_for, v.step as waits_for_name,
       (extract(epoch from coalesce(v.until, z.until)) * 1000000)::bigint as waits_until_us
  from (select c.id, c.status
          from (select s.id, s.status, s.queue, s.name, s.priority, s.args, s.enqueued_at, s.worker_id, s.finished_at,
                       s.error_code, s.tags
                  from dogged.redacted_tasks s
                 where (@partition_statuses::dogged.task_status[]? is null or s.status = any (@partition_statuses))
                   and (@ended_since::timestamptz? is null or s.finished_at is null or s.finished_at >= @ended_since)
                   and (@from_id::bigint? is null or s.id >= @from_id)
                   and (@below_id::bigint? is null or s.id < @below_id)
                   and (@ids::bigint[]? is null or s.id = any (@ids))
                   and (@parent::bigint? is null or s.parent_id = @parent)
                 order by s.id desc
                 limit @searched::bigint?) as c
         where (@statuses::dogged.task_status[]? is null or c.status = any (@statuses))
           and (@queues::text[]? is null or c.queue = any (@queues))
           and (@names::text[]? is null or c.name like any (@names))
           and (@error_codes::text[]? is null or c.error_code = any (@error_codes))
           and (@workers::text[]? is null
                or c.worker_id = any (array(select n.id from dogged.workers n where n.name = any (@workers::text[]?)
                                                                               or n.id::text = any (@workers::text[]?))))
           and (@priority::smallint? is null or c.priority = @priority)
           and (@enqueued_after::timestamptz? is null or c.enqueued_at >= @enqueued_after)
           and (@enqueued_before::timestamptz? is null or c.enqueued_at < @enqueued_before)
           and (@finished_after::timestamptz? is null or c.finished_at >= @finished_after)
           and (@finished_before::timestamptz? is null or c.finished_at < @finished_before)
           and (@args::jsonb? is null or c.args @> @args)
           and (@tags::text[]? is null or c.tags @> @tags)
         order by c.id desc
         limit @most::bigint?) as page
  -- Args and results are read only for this page. offset 0 forces one index lookup per row, whatever the planner
  -- estimates.
 cross join lateral (select r.* from dogged.redacted_tasks r where r.id = page.id and r.status = page.status offset 0) as t
  left join dogged.workers w on w.id = t.worker_id
  left join dogged.queues q on q.name = t.queue
  left join dogged.task_progress p on p.task_id = t.id and t.status <> 'succeeded'
  -- offset 0 forces index lookups for each row, as above.
  left join lateral (select w.waits_for, w.step, w.until from dogged.waiting w
                      where w.task_id = t.id and t.status = 'pending' offset 0) as v on true
  -- The time of a task that a circuit or an operator has put off since is not that of its snooze.
  left join lateral (select 'snooze' as waits_for, a.next_retry_at as until from dogged.task_attempts a
                      where t.status = 'pending' and t.snoozes > 0 and t.next_retry_at > clock_timestamp()
                        and a.task_id = t.id and a.attempt = t.attempt and a.finished_at >= t.claimed_at
                        and a.outcome = 'snoozed' and a.next_retry_at = t.next_retry_at offset 0) as z on true
 order by t.id desc
