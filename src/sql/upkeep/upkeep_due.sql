-- The upkeep that is due for all workers, as worker @worker_id sees it.
-- has_to_rescue: a worker exists whose lease was ended and whose tasks have not all been rescued.
-- lapses_in_ms: time until the next lease lapses, unless it is renewed; below zero if it has lapsed, null if @worker_id
-- has the only lease.
-- has_expired: a pending task has expired within the last @back_ms milliseconds (null: ever); see expire.sql.
-- comes_first: at most one worker that is still registered began before @worker_id.
-- newest_began_ms_ago: how long ago the newest worker began.
-- tick_due_in_ms: time until the next tick of a schedule, null if there is none.
-- The statement requests a row lock that matches no row, so that a server that has become read-only refuses the
-- statement. The worker then looks for another server.
-- gives: has_to_rescue boolean, lapses_in_ms bigint?, has_expired boolean, comes_first boolean, newest_began_ms_ago bigint?
-- gives: tick_due_in_ms bigint?
with writable as materialized (
  select from dogged.workers where id = 0 for update
)
select exists (select from dogged.workers where lease_ended_at is not null and rescued_at is null) as has_to_rescue,
       (select ceil(extract(epoch from min(lease_until) - clock_timestamp()) * 1000)::bigint
          from dogged.workers
         where lease_ended_at is null and id <> @worker_id::bigint) as lapses_in_ms,
       (select t.id
          from dogged.tasks_live t
         where t.expires_at <= now()
           and t.expires_at > coalesce(now() - @back_ms::bigint? * interval '1 millisecond', '-infinity')
           and t.status = 'pending'
         order by t.expires_at
         limit 1) is not null as has_expired,
       (select count(*)
          from (select from dogged.workers
                 where lease_ended_at is null and stopped_at is null and id < @worker_id::bigint
                 limit 2) earlier) < 2 as comes_first,
       (select floor(extract(epoch from clock_timestamp() - started_at) * 1000)::bigint
          from dogged.workers
         order by id desc
         limit 1) as newest_began_ms_ago,
       (select ceil(extract(epoch from min(fires_at) - clock_timestamp()) * 1000)::bigint from dogged.schedules) as tick_due_in_ms
 where not exists (select from writable)
