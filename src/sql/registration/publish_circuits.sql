-- Publishes the circuits that this worker's program declares: names @names, with their settings. A circuit that already
-- has these settings is not touched. Another transaction may have locked its row, and a starting worker must not wait
-- for that lock.
-- gives: nothing
insert into dogged.circuits as c (name, failure_threshold, recovery_timeout_ms, success_threshold)
select *
  from unnest(@names::text[], @failure_thresholds::int[], @recovery_timeouts_ms::bigint[], @success_thresholds::int[])
         as d (name, failures, recovery_ms, successes)
 where (d.name, d.failures, d.recovery_ms, d.successes)
       not in (select known.name, known.failure_threshold, known.recovery_timeout_ms, known.success_threshold
                 from dogged.circuits known)
 order by d.name
    on conflict (name) do update
   set failure_threshold = excluded.failure_threshold, recovery_timeout_ms = excluded.recovery_timeout_ms,
       success_threshold = excluded.success_threshold
 where (c.failure_threshold, c.recovery_timeout_ms, c.success_threshold)
       is distinct from (excluded.failure_threshold, excluded.recovery_timeout_ms, excluded.success_threshold)
