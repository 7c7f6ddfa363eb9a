-- Publishes the declarations that this worker's program made with TASK_REGISTER, as changed by the worker's
-- configuration.
-- gives: nothing
insert into dogged.task_definitions (name, queue, retry_policy, auto_retry_for, timeout_ms, retry_lost, max_losses,
                                     dead_letter, circuit, version, retry_sources, redact, args_version, max_snoozes)
select d.name, d.queue, d.retry_policy::jsonb, array(select jsonb_array_elements_text(d.auto_retry_for::jsonb)),
       d.timeout_ms, d.retry_lost, d.max_losses, d.dead_letter, d.circuit, @version::text, d.retry_sources::jsonb,
       array(select jsonb_array_elements_text(d.redact::jsonb)), d.args_version, d.max_snoozes
  from unnest(@names::text[], @queues::text[], @retry_policies::text[], @auto_retry_for::text[],
              @timeouts_ms::bigint?[], @retry_lost::boolean[], @max_losses::int[],
              @max_snoozes::int[], @dead_letter::boolean[], @circuits::text?[], @retry_sources::text[], @redact::text[],
              @args_versions::smallint[])
         as d (name, queue, retry_policy, auto_retry_for, timeout_ms, retry_lost, max_losses, max_snoozes, dead_letter,
               circuit, retry_sources, redact, args_version)
 order by d.name
    on conflict (name) do update
   set (queue, retry_policy, auto_retry_for, timeout_ms, retry_lost, max_losses, dead_letter, circuit, version,
        retry_sources, redact, args_version, max_snoozes, updated_at) =
       (excluded.queue, excluded.retry_policy, excluded.auto_retry_for, excluded.timeout_ms, excluded.retry_lost,
        excluded.max_losses, excluded.dead_letter, excluded.circuit, excluded.version,
        excluded.retry_sources, excluded.redact, excluded.args_version, excluded.max_snoozes, now())
