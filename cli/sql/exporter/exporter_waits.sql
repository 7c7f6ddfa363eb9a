-- How long new attempts (as in exporter_attempts.sql) waited from their due time to their start, by queue and bucket of
-- @bounds_us. @queues and @attempts: how many of the attempts each queue has. Takes all attempts if there are at most @most.
-- Of more attempts a hash chooses between about half of @most and @most, and at least one of each queue. A sample suffices,
-- because the due time of each attempt needs a look-up. The chosen attempts of a queue stand for all of its attempts. Their
-- number is exact, except for the estimated share that does not count.
--
-- task_timeline tells the same of any attempt. Here each look-up names the days that it may read. So an attempt does not
-- count if its retry was scheduled more than a day before, or if its task was replayed or rescheduled.
-- gives: queue text, bucket int, attempts bigint, waited_us bigint
with queues as materialized (
  select queue, attempts from unnest(@queues::text[], @attempts::bigint[]) as q(queue, attempts)
), new as not materialized (
  select a.task_id, a.attempt, a.queue, a.claimed_at, a.started_at, a.finished_at,
         hashint8extended(a.task_id, a.attempt) & 1073741823 as draw
    from dogged.task_attempts a
   where a.finished_at >= to_timestamp(@after_us::bigint / 1000000.0)
     and a.finished_at < coalesce(to_timestamp(@until_us::bigint? / 1000000.0), 'infinity')
     and age(a.xmin) <= (select age(pg_snapshot_xmin(@since::pg_snapshot)::xid))
     and (age(a.xmin) <= (select age(pg_snapshot_xmax(@since)::xid)) or a.xmin in (select id::xid from pg_snapshot_xip(@since) as id))
), chosen as materialized (
  select * from new where draw % (select (sum(attempts)::bigint - 1) / @most::bigint + 1 from queues) = 0
), one_each as materialized (
  select distinct on (queue) * from new
   where queue in (select queue from queues except select queue from chosen)
   order by queue, draw
), dated as materialized (
  select new.queue, queues.attempts, new.started_at,
         not exists (select from dogged.audit c where c.task_id = new.task_id and c.action in ('replay', 'reschedule')) as counts,
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
    from (select * from chosen union all select * from one_each) as new join queues using (queue)
), waits as (
  select d.queue, d.attempts, count(*) over (partition by d.queue) as sampled, d.counts and d.due_at is not null as counts,
         (greatest(extract(epoch from d.started_at - d.due_at), 0) * 1000000)::bigint as us
    from dated d
), buckets as (
  select w.queue, width_bucket(w.us - 1, @bounds_us::bigint[]) as bucket, count(*) as found, sum(w.us) as us,
         max(w.attempts)::numeric / max(w.sampled) as weight
    from waits w where w.counts group by 1, 2
), sums as (
  select b.queue, b.bucket, b.found, b.us, b.weight, sum(b.found) over (partition by b.queue order by b.bucket) as up_to
    from buckets b
)
-- Rounded so that the buckets of a queue sum up to its attempts.
select s.queue, s.bucket, (round(s.up_to * s.weight) - round((s.up_to - s.found) * s.weight))::bigint as attempts,
       round(s.us * s.weight)::bigint as waited_us
  from sums s
