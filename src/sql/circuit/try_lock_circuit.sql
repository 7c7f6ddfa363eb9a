-- Locks circuit $1, so that this transaction can change it, without waiting for another lock. The row consists of nulls
-- if another transaction has locked the circuit. There is no row if the circuit does not exist.
with locked as (
  select c.name, c.failure_threshold, c.recovery_timeout_ms, c.success_threshold, c.state, c.failures, c.successes, c.probes,
         c.is_forced, c.generation, (extract(epoch from c.since) * 1000)::bigint as since_ms,
         (extract(epoch from clock_timestamp()) * 1000)::bigint as now_ms
    from dogged.circuits c
   where c.name = $1
     for update skip locked
)
select l.*
  from dogged.circuits c
  left join locked l on true
 where c.name = $1
