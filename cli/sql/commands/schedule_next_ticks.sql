-- The next ten ticks of schedule @name. Each is also a text on the clock of its time zone, with the weekday, and with the offset
-- from UTC.
-- fires_at_us: with its jitter.
-- gives: at_us bigint, fires_at_us bigint, weekday text, local_at text, zone_offset text
select (extract(epoch from tick.at) * 1000000)::bigint as at_us,
       (extract(epoch from tick.fires_at) * 1000000)::bigint as fires_at_us,
       to_char(tick.local_at, 'Dy') as weekday,
       to_char(tick.local_at, 'YYYY-MM-DD"T"HH24:MI:SS') as local_at,
       case when tick.ahead < interval '0' then '-' else '+' end || to_char(greatest(tick.ahead, -tick.ahead), 'HH24:MI') as zone_offset
  from dogged.schedule_overview s
 cross join lateral (
   select t.scheduled_at as at, t.fires_at, t.scheduled_at at time zone s.time_zone as local_at,
          (t.scheduled_at at time zone s.time_zone) - (t.scheduled_at at time zone 'UTC') as ahead
     from dogged.next_ticks_of(s.name, 10) t) tick
 where s.name = @name::text
 order by tick.at
