-- Locks circuit $1, so that this transaction can change it.
select c.name, c.failure_threshold, c.recovery_timeout_ms, c.success_threshold, c.state, c.failures, c.successes, c.probes,
       c.is_forced, c.generation, (extract(epoch from c.since) * 1000)::bigint as since_ms,
       (extract(epoch from clock_timestamp()) * 1000)::bigint as now_ms
  from dogged.circuits c
 where c.name = $1
   for update
