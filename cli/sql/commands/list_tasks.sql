-- Lists tasks, the newest first. A null parameter does not filter.
--
-- The query searches at most $16 tasks. They are in the partitions of the statuses $1 (every status of these partitions
-- is named). They have not ended, or ended at $2 or later. Their ids are from $3 to below $4, or among the ids $5.
-- Partitions and their indexes on id decide all of this. So a filter that few tasks pass does not make the query read
-- the whole history.
--
-- Of these it lists at most $17 tasks: with statuses $6, queues $7, names like one of $8, error codes $9, workers $10
-- (ids or names), priority $11, enqueued from $12 to before $13, ended from $14 to before $15, with args (redacted)
-- that contain $18, with all tags of $19.
--
-- The children of task $20 are found by an index, so their search needs no bound.
select t.id, t.status, t.queue, t.name, t.priority, t.args::text as args, t.attempt, t.retry_count, t.losses,
       t.worker_id, w.name as worker, t.result::text as result, t.error_code, t.error_message, t.trace_context,
       t.parent_id, coalesce(t.args_version, 1) as args_version,
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
       (extract(epoch from q.paused_until) * 1000000)::bigint as queue_paused_until_us
  from (select c.id, c.status
          from (select s.id, s.status, s.queue, s.name, s.priority, s.args, s.enqueued_at, s.worker_id, s.finished_at,
                       s.error_code, s.tags
                  from dogged.redacted_tasks s
                 where ($1::dogged.task_status[] is null or s.status = any ($1::dogged.task_status[]))
                   and ($2::timestamptz is null or s.finished_at is null or s.finished_at >= $2::timestamptz)
                   and ($3::bigint is null or s.id >= $3::bigint)
                   and ($4::bigint is null or s.id < $4::bigint)
                   and ($5::bigint[] is null or s.id = any ($5::bigint[]))
                   and ($20::bigint is null or s.parent_id = $20::bigint)
                 order by s.id desc
                 limit $16::bigint) as c
         where ($6::dogged.task_status[] is null or c.status = any ($6::dogged.task_status[]))
           and ($7::text[] is null or c.queue = any ($7::text[]))
           and ($8::text[] is null or c.name like any ($8::text[]))
           and ($9::text[] is null or c.error_code = any ($9::text[]))
           and ($10::text[] is null
                or c.worker_id = any (array(select n.id from dogged.workers n where n.name = any ($10::text[])
                                                                               or n.id::text = any ($10::text[]))))
           and ($11::smallint is null or c.priority = $11::smallint)
           and ($12::timestamptz is null or c.enqueued_at >= $12::timestamptz)
           and ($13::timestamptz is null or c.enqueued_at < $13::timestamptz)
           and ($14::timestamptz is null or c.finished_at >= $14::timestamptz)
           and ($15::timestamptz is null or c.finished_at < $15::timestamptz)
           and ($18::jsonb is null or c.args @> $18::jsonb)
           and ($19::text[] is null or c.tags @> $19::text[])
         order by c.id desc
         limit $17::bigint) as page
  -- Args and results are read only for this page. offset 0 forces one index lookup per row, whatever the planner
  -- estimates.
 cross join lateral (select r.* from dogged.redacted_tasks r where r.id = page.id and r.status = page.status offset 0) as t
  left join dogged.workers w on w.id = t.worker_id
  left join dogged.queues q on q.name = t.queue
 order by t.id desc
