-- Locks a circuit, so that this transaction can change it. No row if the circuit does not exist.
-- gives: name text, failure_threshold int, recovery_timeout_ms bigint, success_threshold int
-- gives: state dogged.circuit_state, failures int, successes int, probes int, is_forced boolean, generation bigint
-- gives: since_ms bigint, now_ms bigint
select c.name, c.failure_threshold, c.recovery_timeout_ms, c.success_threshold, c.state, c.failures, c.successes, c.probes,
       c.is_forced, c.generation, (extract(epoch from c.since) * 1000)::bigint as since_ms,
       (extract(epoch from clock_timestamp()) * 1000)::bigint as now_ms
  from dogged.circuits c
 where c.name = @name::text
   for update
