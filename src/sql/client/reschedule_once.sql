-- Reschedules task $1, for dogged::Client, to $2 (microseconds since 1970) or $3 (milliseconds from now on). $4, $5: the
-- idempotency key, as in enqueue_many.sql.
select made.answer
  from (select dogged.reschedule($1::bigint,
                                 coalesce(timestamptz 'epoch' + $2::bigint * interval '1 microsecond',
                                          now() + $3::bigint * interval '1 millisecond')) as answer
        offset 0) as made
 cross join lateral dogged.note_call($4::uuid, $5::bigint, '{}', made.answer)
