-- Starts claim session $2 of worker $1, because the answer to a claim or a release was lost. Claims and releases of an
-- earlier session that are still running lock the worker's row, so this statement waits for them. Later ones change
-- nothing.
with held as (
  select id from dogged.workers where id = $1::bigint and claim_session < $2::bigint for update
)
update dogged.workers w set claim_session = $2::bigint from held where w.id = held.id
