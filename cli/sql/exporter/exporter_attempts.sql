-- Counts attempts that ended after @after_us and that the snapshot @since does not see, by how long they ran. bucket: how
-- many of the ascending bounds @bounds_us are below that time.
--
-- The snapshot finds attempts that were committed late, and counts none twice. The statement asks it once for each group of a
-- transaction, which records up to a thousand attempts. To ask for each attempt took 1 s for half a million, and this takes 0.4 s.
-- The time is an interval up to the last step, because date_part of each attempt took a sixth of the whole.
-- xmin has 32 bits. The condition makes it the whole id of a transaction that is not older than the snapshot's oldest.
-- gives: queue text, name text, outcome text, will_retry boolean, bucket int, attempts bigint, ran_us bigint
select n.queue, n.name, n.outcome::text as outcome, n.will_retry, n.bucket, sum(n.attempts)::bigint as attempts,
       (extract(epoch from sum(n.ran)) * 1000000)::bigint as ran_us
  from (select a.xmin as transaction, a.queue, a.name, a.outcome, a.will_retry,
               width_bucket(a.finished_at - a.started_at - interval '1 us',
                            (select array_agg(us * interval '1 us' order by us) from unnest(@bounds_us::bigint[]) as us)) as bucket,
               count(*) as attempts, greatest(sum(a.finished_at - a.started_at), interval '0') as ran
          from dogged.task_attempts a
         where a.finished_at >= to_timestamp(@after_us::bigint / 1000000.0)
           and age(a.xmin) <= (select age(pg_snapshot_xmin(@since::pg_snapshot)::xid))
         group by 1, 2, 3, 4, 5, 6) as n
 where not pg_visible_in_snapshot(
         (select pg_snapshot_xmin(@since)::text::bigint
                 + ((n.transaction::text::bigint - pg_snapshot_xmin(@since)::text::bigint) & 4294967295))::text::xid8, @since)
 group by 1, 2, 3, 4, 5
