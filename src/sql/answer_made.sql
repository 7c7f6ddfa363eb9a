-- As call_made.sql, for a call that enqueues nothing: what call $2 of producer $1 has answered, if it has taken effect.
select dogged.answer_made($1::uuid, $2::bigint) as answer
