-- Reschedules a task, for dogged::Client, to @run_at_us (microseconds since 1970) or @delay_ms (milliseconds from now
-- on). @producer and @call are the idempotency key, as in enqueue_many.sql.
-- gives: answer text
select made.answer
  from (select dogged.reschedule(@task_id::bigint,
                                 coalesce(timestamptz 'epoch' + @run_at_us::bigint? * interval '1 microsecond',
                                          now() + @delay_ms::bigint? * interval '1 millisecond')) as answer
        offset 0) as made
 cross join lateral dogged.note_call(@producer::uuid?, @call::bigint?, '{}', made.answer)
