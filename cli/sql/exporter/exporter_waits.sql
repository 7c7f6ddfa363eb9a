-- How long new attempts (as in exporter_attempts.sql) waited from their due time to their start, by queue and bucket of
-- @bounds_us. Takes all attempts if there are at most @most. Of more attempts, a hash chooses every n-th, which counts n
-- times, because the due time is not in the row.
--
-- task_timeline tells the same of any attempt. Here each look-up names the days that it may read. So an attempt does not
-- count if its retry was scheduled more than a day before, or if its task was replayed or rescheduled.
-- gives: queue text, bucket int, attempts bigint, waited_us bigint
with new as materialized (
  select a.task_id, a.attempt, a.queue, a.claimed_at, a.started_at
    from dogged.task_attempts a
   where a.finished_at >= to_timestamp(@after_us::bigint / 1000000.0)
     and age(a.xmin) <= (select age(pg_snapshot_xmin(@since::pg_snapshot)::xid))
     and not pg_visible_in_snapshot(
           (select pg_snapshot_xmin(@since)::text::bigint
                   + ((a.xmin::text::bigint - pg_snapshot_xmin(@since)::text::bigint) & 4294967295))::text::xid8, @since)
), every as materialized (
  select (count(*) - 1) / @most::bigint + 1 as n from new
), dated as materialized (
  select new.queue, every.n, new.started_at,
         case when new.attempt = 1
              then coalesce((select l.run_at from dogged.tasks_live l where l.id = new.task_id),
                            (select t.run_at from dogged.tasks t
                              where t.status not in ('pending', 'running') and t.id = new.task_id
                                and t.finished_at >= to_timestamp(@after_us / 1000000.0)
                              limit 1))
              else (select p.next_retry_at from dogged.task_attempts p
                     where p.task_id = new.task_id and p.attempt = new.attempt - 1 and p.finished_at <= new.claimed_at
                       and p.finished_at >= to_timestamp(@after_us / 1000000.0) - interval '1 day'
                     limit 1) end as due_at
    from every, new
   where (hashint8extended(new.task_id, new.attempt) & 1073741823) % every.n = 0
     and not exists (select from dogged.audit c where c.task_id = new.task_id and c.action in ('replay', 'reschedule'))
)
select w.queue, width_bucket(w.us - 1, @bounds_us::bigint[]) as bucket, (count(*) * max(w.n))::bigint as attempts,
       (sum(w.us) * max(w.n))::bigint as waited_us
  from (select d.queue, d.n, (greatest(extract(epoch from d.started_at - d.due_at), 0) * 1000000)::bigint as us
          from dated d where d.due_at is not null) as w
 group by 1, 2
