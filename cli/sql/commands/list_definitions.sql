-- Lists what workers declared: every task by its name, or task @name alone.
-- gives: name text, queue text, retry_policy jsonb, auto_retry_for text, timeout_ms bigint?, retry_lost boolean
-- gives: max_losses int, max_snoozes int, dead_letter boolean, version text, args_version int, retry_sources jsonb
-- gives: updated_at_us bigint, circuit text?, failure_threshold int?, recovery_timeout_ms bigint?
-- gives: success_threshold int?
select d.name, d.queue, d.retry_policy::text as retry_policy, array_to_json(d.auto_retry_for)::text as auto_retry_for,
       d.timeout_ms, d.retry_lost, d.max_losses, d.max_snoozes, d.dead_letter, d.version, d.args_version,
       d.retry_sources::text as retry_sources,
       (extract(epoch from d.updated_at) * 1000000)::bigint as updated_at_us,
       d.circuit, c.failure_threshold, c.recovery_timeout_ms, c.success_threshold
  from dogged.task_definitions d
  left join dogged.circuits c on c.name = d.circuit
 where @name::text? is null or d.name = @name
 order by d.name
