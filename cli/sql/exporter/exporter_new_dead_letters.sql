-- Counts the dead letters that new attempts (as in exporter_attempts.sql) have made, by task and error code. A dead letter
-- that was replayed or purged since is not counted. Begins at the dead letters, because most attempts make none.
-- gives: name text, error_code text?, letters bigint
select f.name, f.error_code, count(*) as letters
  from dogged.tasks_failed f
 where f.finished_at >= to_timestamp(@after_us::bigint / 1000000.0)
   and f.finished_at < coalesce(to_timestamp(@until_us::bigint? / 1000000.0), 'infinity')
   and (select a.will_retry = false and age(a.xmin) <= (select age(pg_snapshot_xmin(@since::pg_snapshot)::xid))
               and (age(a.xmin) <= (select age(pg_snapshot_xmax(@since)::xid))
                    or a.xmin in (select id::xid from pg_snapshot_xip(@since) as id))
          from dogged.task_attempts a
         where a.task_id = f.id and a.attempt = f.attempt and a.finished_at = f.finished_at
           -- The range names the days that are read: PostgreSQL does not derive it from the equality.
           and a.finished_at >= to_timestamp(@after_us / 1000000.0)
           and a.finished_at < coalesce(to_timestamp(@until_us / 1000000.0), 'infinity')
         limit 1)
 group by 1, 2
