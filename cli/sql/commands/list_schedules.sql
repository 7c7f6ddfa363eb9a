-- Lists schedules with their settings, their next time and their last tick, in the order of their names. @name: this schedule
-- alone. @most: at most so many; null: all. @after: names behind this one. @states: the first words of their states. @tasks:
-- patterns of their tasks. next_text is the next time on the clock of the schedule's time zone; null: the server does not know the zone any more. passed_over_text: as next_text, the
-- first time at which the schedule does not fire since the server's clock was ahead. Args are redacted as their task declares.
-- gives: now_us bigint, name text, task text, spec text, time_zone text, args text, args_version int, queue text?, priority int
-- gives: jitter_ms bigint, overlap text, catch_up_ms bigint?, catch_up_limit int?, state text, is_declared boolean
-- gives: next_at_us bigint?, next_text text?, passed_over_text text?, paused_at_us bigint?, created_at_us bigint, changed_at_us bigint
-- gives: last_at_us bigint?, last_outcome text?, last_reason text?, last_late_ms bigint?, last_task_id bigint?
select (extract(epoch from clock_timestamp()) * 1000000)::bigint as now_us,
       s.name, s.task, s.spec, s.time_zone, s.args::text as args, coalesce(s.args_version, 1)::int as args_version, s.queue,
       s.priority::int as priority, s.jitter_ms, s.overlap::text as overlap, s.catch_up_ms, s.catch_up_limit, s.state, s.is_declared,
       (extract(epoch from s.next_at) * 1000000)::bigint as next_at_us,
       to_char(dogged.time_in(s.next_at, s.time_zone), 'YYYY-MM-DD HH24:MI:SS') as next_text,
       case when greatest(planned.last_tick_at, planned.changed_at) > clock_timestamp() then
         to_char(dogged.time_in(dogged.passed_over_tick(s.id), s.time_zone), 'YYYY-MM-DD HH24:MI:SS') end as passed_over_text,
       (extract(epoch from s.paused_at) * 1000000)::bigint as paused_at_us,
       (extract(epoch from s.created_at) * 1000000)::bigint as created_at_us,
       (extract(epoch from s.changed_at) * 1000000)::bigint as changed_at_us,
       (extract(epoch from s.last_at) * 1000000)::bigint as last_at_us,
       s.last_outcome::text as last_outcome, s.last_reason, s.last_late_ms, s.last_task_id
  from dogged.schedule_overview s
  join dogged.schedules planned on planned.id = s.id
 where (@name::text? is null or s.name = @name)
   and (@states::text[]? is null or split_part(s.state, ' ', 1) = any (@states))
   and (@tasks::text[]? is null or s.task like any (@tasks))
   and (@after::text? is null or s.name > @after)
 order by s.name
 limit @most::bigint?
