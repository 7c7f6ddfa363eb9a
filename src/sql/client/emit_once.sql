-- Emits an event, for dogged::Client. @producer and @call are the idempotency key, as in enqueue_many.sql.
-- gives: answer text
select made.answer
  from (select dogged.emit(@name::text, @payload::jsonb)::text as answer offset 0) as made
 cross join lateral dogged.note_call(@producer::uuid?, @call::bigint?, '{}', made.answer)
