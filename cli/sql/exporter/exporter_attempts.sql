-- Counts attempts that ended after @after_us and that the snapshot @since does not see, by how long they ran. bucket: how
-- many of the ascending bounds @bounds_us are below that time.
--
-- The snapshot finds attempts that were committed late, and counts none twice. xmin has 32 bits. The condition makes it
-- the whole id of a transaction that is not older than the snapshot's oldest. age() comes first because it costs less.
-- gives: queue text, name text, outcome text, will_retry boolean, bucket int, attempts bigint, ran_us bigint
select n.queue, n.name, n.outcome, n.will_retry, width_bucket(n.ran_us - 1, @bounds_us::bigint[]) as bucket,
       count(*) as attempts, sum(n.ran_us)::bigint as ran_us
  from (select a.queue, a.name, a.outcome::text as outcome, a.will_retry,
               greatest(extract(epoch from a.finished_at - a.started_at) * 1000000, 0)::bigint as ran_us
          from dogged.task_attempts a
         where a.finished_at >= to_timestamp(@after_us::bigint / 1000000.0)
           and age(a.xmin) <= (select age(pg_snapshot_xmin(@since::pg_snapshot)::xid))
           and not pg_visible_in_snapshot(
                 (select pg_snapshot_xmin(@since)::text::bigint
                         + ((a.xmin::text::bigint - pg_snapshot_xmin(@since)::text::bigint) & 4294967295))::text::xid8, @since)) as n
 group by 1, 2, 3, 4, 5
