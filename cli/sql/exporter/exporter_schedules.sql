-- The schedules: their states, and for how long each has been due; 0 if it is not.
-- gives: name text, state text, overdue_us bigint
select o.name, o.state, greatest(extract(epoch from clock_timestamp() - s.fires_at) * 1000000, 0)::bigint as overdue_us
  from dogged.schedule_overview o
  join dogged.schedules s on s.id = o.id
 order by o.name
