-- Lists schedules with their settings, their next time and their last tick, in the order of their names. @name: this schedule
-- alone. @most: at most so many; null: all. @after: names behind this one. @states: the first words of their states. @tasks:
-- patterns of their tasks. next_at_us: the tick that a worker would fire next. For a paused schedule: the first tick if
-- an operator resumed it now. Null: there is none, or the server no longer knows the time zone. next_text: the same on
-- the clock of that zone. overdue_us: for how long a tick has been due that no worker has fired; null: for less than a
-- second. passed_over_text: as next_text, the first time at which the schedule does not fire since the server's clock
-- was ahead. Args are redacted as their task declares.
-- gives: now_us bigint, name text, task text, spec text, time_zone text, args text, args_version int, queue text?, priority int
-- gives: jitter_ms bigint, overlap text, catch_up_ms bigint?, catch_up_limit int?, state text, is_declared boolean
-- gives: next_at_us bigint?, next_text text?, overdue_us bigint?, has_live_worker boolean, passed_over_text text?, paused_at_us bigint?
-- gives: created_at_us bigint, changed_at_us bigint
-- gives: last_at_us bigint?, last_outcome text?, last_reason text?, last_late_ms bigint?, last_task_id bigint?
select (extract(epoch from clock_timestamp()) * 1000000)::bigint as now_us,
       s.name, s.task, s.spec, s.time_zone, s.args::text as args, coalesce(s.args_version, 1)::int as args_version, s.queue,
       s.priority::int as priority, s.jitter_ms, s.overlap::text as overlap, s.catch_up_ms, s.catch_up_limit, s.state, s.is_declared,
       (extract(epoch from next.scheduled_at) * 1000000)::bigint as next_at_us,
       to_char(dogged.time_in(next.scheduled_at, s.time_zone), 'YYYY-MM-DD HH24:MI:SS') as next_text,
       -- Not by fires_at alone: a tick that waits for an earlier task lets workers look after the schedule each second.
       case when s.paused_at is null and planned.fires_at < clock_timestamp() - interval '1 second' and s.next_at <= clock_timestamp()
            then (extract(epoch from clock_timestamp() - greatest(planned.fires_at, s.next_at)) * 1000000)::bigint end as overdue_us,
       exists (select from dogged.workers w
                where dogged.worker_state(w.lease_until, w.stop_began_at, w.lease_ended_at, w.stopped_at) = 'live') as has_live_worker,
       case when greatest(planned.last_tick_at, planned.changed_at) > clock_timestamp() then
         to_char(dogged.time_in(dogged.passed_over_tick(s.id), s.time_zone), 'YYYY-MM-DD HH24:MI:SS') end as passed_over_text,
       (extract(epoch from s.paused_at) * 1000000)::bigint as paused_at_us,
       (extract(epoch from s.created_at) * 1000000)::bigint as created_at_us,
       (extract(epoch from s.changed_at) * 1000000)::bigint as changed_at_us,
       (extract(epoch from s.last_at) * 1000000)::bigint as last_at_us,
       s.last_outcome::text as last_outcome, s.last_reason, s.last_late_ms, s.last_task_id
  from dogged.schedule_overview s
  join dogged.schedules planned on planned.id = s.id
  -- No name, no ticks: next_ticks_of raises an error for a time zone that the server does not know.
  left join lateral dogged.next_ticks_of(case when dogged.time_in(clock_timestamp(), s.time_zone) is not null then s.name end, 1) next on true
 where (@name::text? is null or s.name = @name)
   and (@states::text[]? is null or split_part(s.state, ' ', 1) = any (@states))
   and (@tasks::text[]? is null or s.task like any (@tasks))
   and (@after::text? is null or s.name > @after)
 order by s.name
 limit @most::bigint?
