-- Worker $1 begins the claim session $2, because the answer to a claim or a release was lost. Claims and releases of an
-- earlier session that are under way hold the row: they are waited for, and later ones change nothing.
with held as (
  select id from dogged.workers where id = $1::bigint and claim_session < $2::bigint for update
)
update dogged.workers w set claim_session = $2::bigint from held where w.id = held.id
