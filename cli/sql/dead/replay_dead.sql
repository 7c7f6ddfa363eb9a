-- Replays the dead letters $1 that failed in the attempts $2. They are due from the time $3 (microseconds since 1970;
-- null: in $4 milliseconds), $5 a second (null: all at once), with the args $6 (null: unchanged).
select r.id, r.result, (extract(epoch from r.due_at) * 1000000)::bigint as due_at_us
  from dogged.replay_many($1::bigint[],
                          coalesce(timestamptz 'epoch' + $3::bigint * interval '1 microsecond',
                                   now() + $4::bigint * interval '1 millisecond'),
                          $5::double precision, $6::jsonb[], $2::int[]) r
