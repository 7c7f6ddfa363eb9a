-- Ends attempts in one statement: moves finished tasks to their partition, schedules retries, writes the attempt rows.
-- Fenced: a report counts only if the task still runs under this worker and this attempt. The result has the ids of the
-- reports that did not count, usually none. A row for each counted report would take as long as ending a few dozen
-- tasks more (docs/decisions/0011). If cancellation was requested meanwhile, only success and cancellation count. A
-- retry does not count if it would fall after its task's expires_at by the database's clock. The worker then decides
-- again; who_holds.sql tells why a report did not count.
-- Times are the database's: the worker reports how long ago the handler began and ended. A retry whose delay was over
-- when the report was sent is ready at once.
--
-- The history is written from the rows that the DELETE and the UPDATE return, so that nothing can change between
-- reading and writing. The DELETE and the UPDATE skip a row that another transaction has locked, for example a
-- handler's own transaction. The lock shows in xmax, the transaction that last locked or changed this row version. A
-- row qualifies if xmax is 0, the transaction that wrote the version (xmin, usually the claim), or this transaction
-- (rescue locks first). Any other transaction in xmax may have ended: clear_locks.sql then removes it.
--
-- `= any`, `case` and `offset 0` pin the plan to the key. With plain conditions PostgreSQL may join report and table in
-- other ways. The choice follows its statistics of statuses and workers, or a table that was empty at planning time.
-- One such plan took 1.4 s for a batch (docs/decisions/0001).
--
-- Ended attempts and retries come in separate arrays. Most attempts succeed, and only their times are reported. Details
-- of other ended attempts come in @positions to @retry_afters_ms, with the position of their report. An array of only
-- nulls is sent empty, because fewer elements are faster to read (docs/decisions/0011). Traces are those of attempts that
-- are the root of one, in one text with a line for each report. Other attempts have the trace context of their task, and
-- an empty line. Reading an array of 1000 traces took 0.3 µs a trace longer (docs/decisions/0019).
-- A transaction that takes a ready_position must have its transaction id first (settle_watermarks.sql). The retries
-- read `own` for that reason.
-- gives: id bigint
with own as (
  select pg_current_xact_id()::xid as xid
), ended as (
  delete from dogged.tasks_live t
   using (select (@ended_ids::bigint[])[r.place] as id, (@ended_attempts::int[])[r.place] as attempt,
                 (@ended_started_us_ago::bigint[])[r.place] as started_us_ago,
                 (@ended_finished_us_ago::bigint[])[r.place] as finished_us_ago, r.own_trace, d.*,
                 coalesce(d.status, 'succeeded') as to_status
            from rows from (generate_series(1, cardinality(@ended_ids::bigint[])),
                            unnest(string_to_array(@ended_traces::text, e'\n', '')))
                   as r (place, own_trace)
            left join unnest(@positions::bigint[], @statuses::dogged.task_status[], @outcomes::dogged.attempt_outcome[],
                             @retry_counts::int[], @losses::int[], @snoozes::bigint?[], @results::jsonb?[], @error_codes::text?[],
                             @error_messages::text?[], @error_details::jsonb?[], @policies::text?[],
                             @retry_afters_ms::bigint?[])
                        as d (position, status, outcome, retry_count, losses, snoozes, result, error_code, error_message,
                              error_details, policy, retry_after_ms)
              on d.position = r.place
          offset 0) r
   where t.id = any (array[r.id])
     and case when t.attempt = r.attempt then
              t.status = 'running' and t.worker_id = @worker_id::bigint
              and (t.cancel_requested_at is null or r.to_status in ('succeeded', 'cancelled'))
              and (t.xmax = '0' or t.xmax = t.xmin or t.xmax = (select xid from own)) end
  returning t.id, t.attempt, t.queue, t.name, t.priority, t.args, t.enqueued_at, t.run_at, t.expires_at, t.claimed_at,
            t.trace_context, t.tags, t.parent_id, t.args_version, t.unique_key, t.cancel_requested_at, r.to_status,
            coalesce(r.outcome, 'succeeded') as outcome,
            coalesce(r.retry_count, t.retry_count) as retry_count, coalesce(r.losses, t.losses) as losses,
            coalesce(r.snoozes::int, t.snoozes) as snoozes, r.result, r.error_code, r.error_message, r.error_details,
            -- A task that expires after a snooze or an interruption keeps the error of its last failure.
            case when r.to_status = 'expired' and r.error_code is null then t.error_code else r.error_code end
              as last_error_code,
            case when r.to_status = 'expired' and r.error_code is null then t.error_message else r.error_message end
              as last_error_message,
            r.policy, r.retry_after_ms, coalesce(r.own_trace, t.trace_context) as attempt_trace,
            dogged.moment_ago(t.claimed_at, r.started_us_ago) as started_at,
            dogged.moment_ago(t.claimed_at, r.finished_us_ago) as finished_at
), rescheduled as (
  update dogged.tasks_live t
     set status = 'pending', retry_count = r.retry_count, losses = r.losses,
         snoozes = coalesce(r.snoozes::int, t.snoozes),
         error_code = coalesce(r.error_code, t.error_code),
         error_message = case when r.error_code is null then t.error_message else r.error_message end,
         (next_retry_at, deferred, ready_position) =
           (select due.at, due.at > statement_timestamp(),
                   case when r.delay_ms = 0 then dogged.place_in_front()
                        when due.at > statement_timestamp() then t.ready_position
                        else nextval('dogged.tasks_id_seq') end
              from (select dogged.moment_ago(t.claimed_at, r.finished_us_ago) + r.delay_ms * interval '1 millisecond' as at) due)
    from (select *
            from unnest(@retried_ids::bigint[], @retried_attempts::int[], @retried_started_us_ago::bigint[],
                        @retried_finished_us_ago::bigint[], @retried_outcomes::dogged.attempt_outcome[],
                        @retried_retry_counts::int[], @retried_losses::int[], @retried_snoozes::bigint?[],
                        @retried_error_codes::text?[],
                        @retried_error_messages::text?[], @retried_error_details::jsonb?[], @retried_policies::text?[],
                        @backoffs_ms::bigint[], @delays_ms::bigint[],
                        @retried_retry_afters_ms::bigint?[], string_to_array(@retried_traces::text, e'\n', ''))
                   as r (id, attempt, started_us_ago, finished_us_ago, outcome, retry_count, losses, snoozes, error_code,
                         error_message, error_details, policy, backoff_ms, delay_ms, retry_after_ms, own_trace)
          offset 0) r
   where (select xid from own) is not null and t.id = any (array[r.id])
     and case when t.attempt = r.attempt then
              t.status = 'running' and t.worker_id = @worker_id::bigint
              and t.cancel_requested_at is null
              and (t.xmax = '0' or t.xmax = t.xmin or t.xmax = (select xid from own))
              and (t.expires_at is null
                   or dogged.moment_ago(t.claimed_at, r.finished_us_ago) + r.delay_ms * interval '1 millisecond'
                      <= t.expires_at) end
  returning t.id, t.attempt, t.queue, t.name, t.claimed_at, coalesce(r.own_trace, t.trace_context) as attempt_trace,
            t.next_retry_at, r.outcome, r.error_code,
            r.error_message, r.error_details, r.policy, r.backoff_ms, r.delay_ms, r.retry_after_ms,
            dogged.moment_ago(t.claimed_at, r.started_us_ago) as started_at,
            dogged.moment_ago(t.claimed_at, r.finished_us_ago) as finished_at
), failed as (
  insert into dogged.tasks_failed (id, status, queue, name, priority, args, enqueued_at, run_at, attempt, retry_count, losses,
                                   worker_id, claimed_at, finished_at, error_code, error_message, trace_context,
                                   cancel_requested_at, expires_at, tags, parent_id, args_version, snoozes,
                                   unique_key)
  select id, to_status, queue, name, priority, args, enqueued_at, run_at, attempt, retry_count, losses, @worker_id::bigint,
         claimed_at, finished_at, error_code, error_message, trace_context, cancel_requested_at, expires_at, tags, parent_id,
         args_version, snoozes, unique_key
    from ended where to_status = 'failed'
), done as (
  insert into dogged.tasks_done (id, status, queue, name, priority, args, enqueued_at, run_at, attempt, retry_count, losses,
                                 worker_id, claimed_at, finished_at, result, error_code, error_message, trace_context,
                                 cancel_requested_at, expires_at, tags, parent_id, args_version, snoozes,
                                   unique_key)
  select id, to_status, queue, name, priority, args, enqueued_at, run_at, attempt, retry_count, losses, @worker_id::bigint,
         claimed_at, finished_at, result, last_error_code, last_error_message, trace_context, cancel_requested_at,
         expires_at, tags, parent_id, args_version, snoozes, unique_key
    from ended where to_status <> 'failed'
), recorded as (
  insert into dogged.task_attempts (task_id, attempt, name, queue, outcome, worker_id, claimed_at, started_at,
                                    finished_at, error_code, error_message, error_details, will_retry, next_retry_at,
                                    policy, backoff_ms, delay_ms, retry_after_ms, trace_context)
  select id, attempt, name, queue, outcome, @worker_id::bigint, claimed_at, started_at, finished_at, error_code,
         error_message, error_details, false, null, policy, null, null, retry_after_ms, attempt_trace
    from ended
   union all
  select id, attempt, name, queue, outcome, @worker_id::bigint, claimed_at, started_at, finished_at, error_code,
         error_message, error_details, true, next_retry_at, policy, backoff_ms, delay_ms, retry_after_ms, attempt_trace
    from rescheduled
)
-- Comparing the counts avoids the search if every report counted. Hence an id may appear in a batch only once.
select id
  from unnest(@ended_ids::bigint[] || @retried_ids::bigint[]) id
 where (select count(*) from ended) + (select count(*) from rescheduled)
       < cardinality(@ended_ids::bigint[] || @retried_ids::bigint[])
   and id not in (select id from ended union all select id from rescheduled)
