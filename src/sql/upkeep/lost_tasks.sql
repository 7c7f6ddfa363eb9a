-- Up to 1000 tasks of the claims @claim_ids that run under the ended lease of worker @worker_id. Each has its
-- definition's retry policy and settings for losses, and its producer's trace context. Locked rows are skipped: another
-- transaction is ending them.
-- gives: id bigint, name text, queue text, attempt int, retry_count int, losses int, cancel_requested boolean
-- gives: expires_in_ms bigint?, trace_context text?
-- gives: retry_policy text?, retry_lost boolean?, max_losses int?, dead_letter boolean?
select t.id, t.name, t.queue, t.attempt, t.retry_count, t.losses, t.cancel_requested_at is not null as cancel_requested,
       floor(extract(epoch from t.expires_at - clock_timestamp()) * 1000)::bigint as expires_in_ms, t.trace_context,
       d.retry_policy::text as retry_policy, d.retry_lost, d.max_losses, d.dead_letter
  from dogged.tasks_live t
  left join dogged.task_definitions d on d.name = t.name
 where t.id = any (array(select unnest(c.task_ids) from dogged.claims c
                          where c.worker_id = @worker_id::bigint and c.id = any (@claim_ids::bigint[])))
   and t.worker_id = @worker_id::bigint and t.status = 'running'
 limit 1000
   for update of t skip locked
