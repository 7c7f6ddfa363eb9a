-- Shows task @task_id. Times are microseconds since 1970.
-- gives: id bigint, status dogged.task_status, queue text, name text, priority int, args jsonb, attempt int
-- gives: retry_count int, losses int, snoozes int, worker_id bigint?, worker text?, result jsonb?, error_code text?
-- gives: error_message text?, trace_context text?, parent_id bigint?, args_version int, unique_key text?, tags text
-- gives: enqueued_at_us bigint, run_at_us bigint, next_retry_at_us bigint?, expires_at_us bigint?
-- gives: claimed_at_us bigint?, cancel_requested_at_us bigint?, finished_at_us bigint?, now_us bigint
-- gives: lease_until_us bigint?, worker_state text?, is_served boolean, known_args_version int?, is_queue_paused boolean
-- gives: queue_paused_until_us bigint?, progress float8?, progress_message text?, progress_attempt int?
-- gives: progress_at_us bigint?, waits_for text?, waits_for_name text?, waits_until_us bigint?
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
       case when t.status = 'running' then (extract(epoch from w.lease_until) * 1000000)::bigint end as lease_until_us,
       case when t.status = 'running'
            then dogged.worker_state(w.lease_until, w.stop_began_at, w.lease_ended_at, w.stopped_at) end as worker_state,
       exists (select from dogged.workers s
                where dogged.worker_state(s.lease_until, s.stop_began_at, s.lease_ended_at, s.stopped_at) = 'live'
                  and s.queues ? t.queue and dogged.knows_task(s.task_names, s.args_versions, t.name, t.args_version))
         as is_served,
       (select max(coalesce((s.args_versions ->> t.name)::integer, 1)) from dogged.workers s
         where dogged.worker_state(s.lease_until, s.stop_began_at, s.lease_ended_at, s.stopped_at) = 'live'
           and s.queues ? t.queue and t.name = any (s.task_names)) as known_args_version,
       coalesce(q.paused_at is not null and (q.paused_until is null or q.paused_until > clock_timestamp()), false) as is_queue_paused,
       (extract(epoch from q.paused_until) * 1000000)::bigint as queue_paused_until_us,
       p.fraction as progress, p.message as progress_message, p.attempt as progress_attempt,
       (extract(epoch from p.reported_at) * 1000000)::bigint as progress_at_us,
       coalesce(v.waits_for, z.waits_for) as waits_for, v.step as waits_for_name,
       (extract(epoch from coalesce(v.until, z.until)) * 1000000)::bigint as waits_until_us
  from dogged.redacted_tasks t
  left join dogged.workers w on w.id = t.worker_id
  left join dogged.queues q on q.name = t.queue
  left join dogged.task_progress p on p.task_id = t.id and t.status <> 'succeeded'
  left join lateral (select w.waits_for, w.step, w.until from dogged.waiting w
                      where w.task_id = t.id and t.status = 'pending' offset 0) as v on true
  -- The time of a task that a circuit or an operator has put off since is not that of its snooze.
  left join lateral (select 'snooze' as waits_for, a.next_retry_at as until from dogged.task_attempts a
                      where t.status = 'pending' and t.snoozes > 0 and t.next_retry_at > clock_timestamp()
                        and a.task_id = t.id and a.attempt = t.attempt and a.finished_at >= t.claimed_at
                        and a.outcome = 'snoozed' and a.next_retry_at = t.next_retry_at offset 0) as z on true
 where t.id = @task_id::bigint
