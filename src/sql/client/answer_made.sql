-- Like call_made.sql, for a call that enqueues nothing: the answer of a call, if the call has taken effect.
-- gives: answer text
select dogged.answer_made(@producer::uuid, @call::bigint) as answer
