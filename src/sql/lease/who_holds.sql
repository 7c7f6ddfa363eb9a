-- Tells why reports or releases of worker @worker_id on tasks @ids with attempts @attempts changed nothing. Each row
-- names the worker that holds the task now, and the recorded outcome of the attempt, or null if there is none.
-- expires_in_us and expires_after_claim_us: how long until the task expires, from now and from its claim.
-- gives: id bigint, attempt int, status text?, task_attempt int?, worker_id bigint?, worker text?, is_mine boolean
-- gives: cancel_requested boolean, expires_in_us bigint?, expires_after_claim_us bigint?, outcome text?, recorded_for bigint?
select r.id, r.attempt, t.status, t.attempt as task_attempt, t.worker_id, w.name as worker,
       coalesce(t.status = 'running' and t.worker_id = @worker_id::bigint and t.attempt = r.attempt, false) as is_mine,
       t.cancel_requested_at is not null as cancel_requested,
       (extract(epoch from t.expires_at - clock_timestamp()) * 1000000)::bigint as expires_in_us,
       (extract(epoch from t.expires_at - t.claimed_at) * 1000000)::bigint as expires_after_claim_us,
       a.outcome, a.worker_id as recorded_for
  from unnest(@ids::bigint[], @attempts::int[]) as r (id, attempt)
  left join lateral (select * from dogged.tasks where tasks.id = r.id) t on true
  left join lateral (select * from dogged.task_attempts s where s.task_id = r.id and s.attempt = r.attempt) a on true
  left join dogged.workers w on w.id = t.worker_id
