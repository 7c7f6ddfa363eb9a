-- The next ten times of schedule @name, without jitter: also as text on the clock of its time zone, with the weekday and the
-- offset from UTC.
-- gives: at_us bigint, local_text text
select (extract(epoch from tick.at) * 1000000)::bigint as at_us,
       to_char(tick.at at time zone s.time_zone, 'Dy YYYY-MM-DD HH24:MI:SS')
       || case when tick.ahead < interval '0' then '-' else '+' end
       || to_char(greatest(tick.ahead, -tick.ahead), 'HH24:MI') as local_text
  from dogged.schedule_overview s
 cross join lateral (
   select t.at, (t.at at time zone s.time_zone) - (t.at at time zone 'UTC') as ahead
     from dogged.next_ticks(s.spec, s.time_zone, clock_timestamp(), 10) as t (at)) tick
 where s.name = @name::text
 order by tick.at
