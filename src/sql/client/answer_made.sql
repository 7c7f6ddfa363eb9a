-- Like call_made.sql, for a call that enqueues nothing: the answer of call $2 of producer $1, if the call has taken
-- effect.
select dogged.answer_made($1::uuid, $2::bigint) as answer
