-- The schedules, with the outcomes of the ticks that were decided within the last day.
-- overdue_us: for how long it has been due; null: it is not. is_task_known: a live worker knows its task. missed: ranges of
-- ticks that no worker fired in time. refused: the number of tasks that enqueue refused; refusal: the last such error.
-- ahead_us: how far its next time lies ahead, if a clock that was ahead made the schedule pass over times before that.
-- latest_ms: how late the latest of its ticks came; ticks that may wait for an earlier task do not count.
-- gives: name text, task text, state text, overdue_us bigint?, paused_us bigint?, ahead_us bigint?, is_task_known boolean
-- gives: missed bigint, refused bigint, refusal text?, latest_ms bigint
with live as materialized (
  select w.task_names
    from dogged.workers w
   where dogged.worker_state(w.lease_until, w.stop_began_at, w.lease_ended_at, w.stopped_at) = 'live'
), ticks as materialized (
  select t.schedule_id, count(*) filter (where t.reason = 'missed') as missed,
         count(*) filter (where t.reason not in ('missed', 'paused', 'overlap', 'superseded')) as refused,
         (array_agg(t.reason order by t.decided_at desc) filter (where t.reason not in ('missed', 'paused', 'overlap', 'superseded')))[1] as refusal,
         max(t.late_ms) filter (where t.outcome = 'fired') as latest_ms
    from dogged.schedule_ticks t
   where t.decided_at > now() - interval '1 day'
   group by t.schedule_id
)
select o.name, o.task, o.state,
       case when s.fires_at < clock_timestamp() then (extract(epoch from clock_timestamp() - s.fires_at) * 1000000)::bigint end as overdue_us,
       (extract(epoch from clock_timestamp() - o.paused_at) * 1000000)::bigint as paused_us,
       case when greatest(s.last_tick_at, s.changed_at) > clock_timestamp() and dogged.passed_over_tick(s.id) is not null then
         (extract(epoch from case when s.paused_at is null then s.next_at else s.last_tick_at end - clock_timestamp()) * 1000000)::bigint end as ahead_us,
       exists (select from live where o.task = any (live.task_names)) as is_task_known,
       coalesce(t.missed, 0) as missed, coalesce(t.refused, 0) as refused, t.refusal,
       case when o.overlap in ('skip', 'allow_all') then coalesce(t.latest_ms, 0) else 0 end as latest_ms
  from dogged.schedule_overview o
  join dogged.schedules s on s.id = o.id
  left join ticks t on t.schedule_id = o.id
 order by o.name
