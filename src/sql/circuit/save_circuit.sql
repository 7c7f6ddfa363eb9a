-- Writes a circuit that this transaction has locked. Notifies workers of a new generation too: a closed circuit that an
-- operator closes counts no attempt that began before.
-- gives: nothing
with saved as (
  update dogged.circuits c
     set state = @state::dogged.circuit_state, failures = @failures::int, successes = @successes::int, probes = @probes::int,
         is_forced = @is_forced::boolean, since = timestamptz 'epoch' + @since_ms::bigint * interval '1 millisecond',
         generation = @generation::bigint,
         changed_at = case when c.state = @state::dogged.circuit_state then c.changed_at else clock_timestamp() end
    from dogged.circuits before
   where c.name = @name::text and before.name = @name::text
  returning (before.state, before.generation) <> (c.state, c.generation) as is_changed
)
select pg_notify('dogged.circuits', @name::text) from saved where is_changed
