-- Starts claim session @claim_session of worker @worker_id, because the answer to a claim or a release was lost. Claims
-- and releases of an earlier session that are still running lock the worker's row, so this statement waits for them.
-- Later ones change nothing.
-- gives: nothing
with held as (
  select id from dogged.workers where id = @worker_id::bigint and claim_session < @claim_session::bigint for update
)
update dogged.workers w set claim_session = @claim_session::bigint from held where w.id = held.id
