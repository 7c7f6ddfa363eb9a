-- Lists all circuits by name, with the tasks that workers have declared under each. Times in ..._ms are milliseconds
-- since 1970.
-- gives: name text, failure_threshold int, recovery_timeout_ms bigint, success_threshold int
-- gives: state dogged.circuit_state, failures int, successes int, probes int, is_forced boolean, generation bigint
-- gives: since_ms bigint, now_ms bigint, changed_at_us bigint, tasks text
select c.name, c.failure_threshold, c.recovery_timeout_ms, c.success_threshold, c.state, c.failures, c.successes, c.probes,
       c.is_forced, c.generation, (extract(epoch from c.since) * 1000)::bigint as since_ms,
       (extract(epoch from clock_timestamp()) * 1000)::bigint as now_ms,
       (extract(epoch from c.changed_at) * 1000000)::bigint as changed_at_us,
       array_to_json(array(select d.name from dogged.task_definitions d where d.circuit = c.name order by d.name))::text as tasks
  from dogged.circuits c
 order by c.name
