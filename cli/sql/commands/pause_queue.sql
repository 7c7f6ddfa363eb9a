-- Pauses queue $1 until $2 (microseconds since 1970), or for $3 milliseconds. If both are null, it stays paused until
-- it is resumed.
select dogged.pause_queue($1, coalesce(timestamptz 'epoch' + $2::bigint * interval '1 microsecond',
                                       clock_timestamp() + $3::bigint * interval '1 millisecond')) as changed
