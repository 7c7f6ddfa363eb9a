-- Makes up for the times of schedule @name from @from_us until before @until_us (microseconds since 1970).
-- gives: ticks int, is_paused boolean
select dogged.backfill_schedule(@name::text, timestamptz 'epoch' + @from_us::bigint * interval '1 microsecond',
                                timestamptz 'epoch' + @until_us::bigint * interval '1 microsecond', @overlap::text) as ticks,
       (select s.paused_at is not null from dogged.schedules s where s.name = @name) as is_paused
