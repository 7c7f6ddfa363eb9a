-- Counts new ticks of schedules, as exporter_attempts.sql counts attempts: fired, or why they were skipped. Ticks that wait
-- count when they are decided. bucket: how many of the ascending bounds @bounds_us are below the time by which a tick was late.
-- The bucket is null for a tick that was skipped, or was no tick of the clock.
-- gives: schedule text, outcome text, bucket int?, ticks bigint, late_us bigint
select n.schedule, n.outcome, width_bucket(n.late_us - 1, @bounds_us::bigint[]) as bucket, count(*) as ticks,
       coalesce(sum(n.late_us), 0)::bigint as late_us
  from (select coalesce(s.name, 'deleted') as schedule,
               case when t.outcome = 'fired' then 'fired'
                    when t.reason in ('overlap', 'missed', 'paused', 'superseded', 'deleted', 'full') then t.reason
                    else 'refused' end as outcome,
               case when t.outcome = 'fired' then t.late_ms * 1000 end as late_us
          from dogged.schedule_ticks t
          left join dogged.schedules s on s.id = t.schedule_id
         where t.decided_at >= to_timestamp(@after_us::bigint / 1000000.0)
           and t.decided_at < coalesce(to_timestamp(@until_us::bigint? / 1000000.0), 'infinity') and t.outcome <> 'waiting'
           and age(t.xmin) <= (select age(pg_snapshot_xmin(@since::pg_snapshot)::xid))
           and (age(t.xmin) <= (select age(pg_snapshot_xmax(@since)::xid))
                or t.xmin in (select id::xid from pg_snapshot_xip(@since) as id))) as n
 group by 1, 2, 3
