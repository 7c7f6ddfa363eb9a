-- Replays task $1, for dogged::Client. $2, $3: the idempotency key, as in enqueue_many.sql.
select made.answer
  from (select dogged.replay($1::bigint) as answer offset 0) as made
 cross join lateral dogged.note_call($2::uuid, $3::bigint, '{}', made.answer)
