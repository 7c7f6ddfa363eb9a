-- Pauses the queue $1: until $2, in microseconds since 1970, or for $3 milliseconds; until it is resumed where both are null.
select dogged.pause_queue($1, coalesce(timestamptz 'epoch' + $2::bigint * interval '1 microsecond',
                                       clock_timestamp() + $3::bigint * interval '1 millisecond')) as changed
