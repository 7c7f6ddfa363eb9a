-- Counts the dead letters that new attempts (as in exporter_attempts.sql) have made, by task and error code. A dead letter
-- that was replayed or purged since is not counted.
-- gives: name text, error_code text?, letters bigint
select a.name, a.error_code, count(*) as letters
  from dogged.task_attempts a
 where a.finished_at >= to_timestamp(@after_us::bigint / 1000000.0)
   and not a.will_retry and a.outcome in ('failed', 'timed_out', 'lost')
   and age(a.xmin) <= (select age(pg_snapshot_xmin(@since::pg_snapshot)::xid))
   and not pg_visible_in_snapshot(
         (select pg_snapshot_xmin(@since)::text::bigint
                 + ((a.xmin::text::bigint - pg_snapshot_xmin(@since)::text::bigint) & 4294967295))::text::xid8, @since)
   -- The range names the days that are read: PostgreSQL does not derive it from the equality.
   and exists (select from dogged.tasks_failed f
                where f.id = a.task_id and f.finished_at = a.finished_at
                  and f.finished_at >= to_timestamp(@after_us / 1000000.0))
 group by 1, 2
