-- Lists the tasks of this program that another worker declared differently. Parameters are as in
-- publish_definitions.sql.
-- gives: name text, version text, retry_policy text, auto_retry_for text, retry_lost boolean, max_losses int, max_snoozes int
-- gives: dead_letter boolean, retry_sources text
select s.name, s.version, s.retry_policy::text as retry_policy, array_to_json(s.auto_retry_for)::text as auto_retry_for,
       s.retry_lost, s.max_losses, s.max_snoozes, s.dead_letter, s.retry_sources::text as retry_sources
  from unnest(@names::text[], @queues::text[], @retry_policies::text[], @auto_retry_for::text[],
              @timeouts_ms::bigint?[], @retry_lost::boolean[], @max_losses::int[],
              @max_snoozes::int[], @dead_letter::boolean[], @circuits::text?[])
         as d (name, queue, retry_policy, auto_retry_for, timeout_ms, retry_lost, max_losses, max_snoozes, dead_letter,
               circuit)
  join dogged.task_definitions s on s.name = d.name
 where (s.queue, s.retry_policy, s.auto_retry_for, s.timeout_ms, s.retry_lost, s.max_losses, s.max_snoozes,
        s.dead_letter, s.circuit)
       is distinct from
       (d.queue, d.retry_policy::jsonb, array(select jsonb_array_elements_text(d.auto_retry_for::jsonb)), d.timeout_ms,
        d.retry_lost, d.max_losses, d.max_snoozes, d.dead_letter, d.circuit)
 order by s.name
