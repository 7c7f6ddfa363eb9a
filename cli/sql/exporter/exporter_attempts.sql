-- Counts attempts that ended from @after_us on, and before @until_us if that is given, and that the snapshot @since does not
-- see. They are grouped by how long they ran. bucket: how many of the ascending bounds @bounds_us are below that time.
--
-- The snapshot finds attempts that were committed late, and counts none twice. Its oldest and next transactions decide for most
-- attempts, by their age: xmin has 32 bits. Only for transactions in between the statement asks whether one was in progress.
-- To ask pg_visible_in_snapshot for each attempt took 1 s for half a million, and this takes 0.2 s. The time is an interval
-- up to the last step, because date_part of each attempt took a sixth of the whole.
-- gives: queue text, name text, outcome text, will_retry boolean, bucket int, attempts bigint, ran_us bigint
select a.queue, a.name, a.outcome::text as outcome, a.will_retry,
       width_bucket(a.finished_at - a.started_at - interval '1 us',
                    (select array_agg(us * interval '1 us' order by us) from unnest(@bounds_us::bigint[]) as us)) as bucket,
       count(*) as attempts,
       (extract(epoch from greatest(sum(a.finished_at - a.started_at), interval '0')) * 1000000)::bigint as ran_us
  from dogged.task_attempts a
 where a.finished_at >= to_timestamp(@after_us::bigint / 1000000.0)
   and a.finished_at < coalesce(to_timestamp(@until_us::bigint? / 1000000.0), 'infinity')
   and age(a.xmin) <= (select age(pg_snapshot_xmin(@since::pg_snapshot)::xid))
   and (age(a.xmin) <= (select age(pg_snapshot_xmax(@since)::xid)) or a.xmin in (select id::xid from pg_snapshot_xip(@since) as id))
 group by a.queue, a.name, a.outcome, a.will_retry, bucket
