-- Writes circuit $1, which this transaction has locked. Notifies workers when the state changes.
with saved as (
  update dogged.circuits c
     set state = $2::dogged.circuit_state, failures = $3::int, successes = $4::int, probes = $5::int, is_forced = $6::boolean,
         since = timestamptz 'epoch' + $7::bigint * interval '1 millisecond', generation = $8::bigint,
         changed_at = case when c.state = $2::dogged.circuit_state then c.changed_at else clock_timestamp() end
    from dogged.circuits before
   where c.name = $1 and before.name = $1
  returning before.state <> c.state as is_changed
)
select pg_notify('dogged.circuits', $1) from saved where is_changed
