-- Pauses queue @name until @until_us (microseconds since 1970), or for @for_ms milliseconds. If both are null, it
-- stays paused until it is resumed.
-- gives: changed boolean
select dogged.pause_queue(@name::text, coalesce(timestamptz 'epoch' + @until_us::bigint? * interval '1 microsecond',
                                       clock_timestamp() + @for_ms::bigint? * interval '1 millisecond')) as changed
