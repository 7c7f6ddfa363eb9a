-- Enqueues from the C++ client, through the SQL function that everyone uses. $4: microseconds since 1970; $5: a delay in
-- milliseconds by the database's clock; at most one of them for a task. $8, $9: the same for
-- when the task expires. An array of nothing but defaults is null; one element is for all tasks.
-- $2: the JSON of their args, with U+001E in between, which no JSON has in it. Each is read by itself: what reads the text of an array of
-- JSON keeps what it has needed for one element until it has read the last (docs/decisions/0004). A function's rows come in its order.
-- $10: of each task the text of an array of its tags.
-- Each row: ids from `first` to `last`, in the order of the tasks.
-- $11, $12: the idempotency key, a producer and the number of its call (producer_calls); null where it is not called again.
select lower(ids) as first, upper(ids) - 1 as last
  from unnest(dogged.note_call(
         $11::uuid, $12::bigint,
         dogged.enqueue_many(
           $1::text[], array(select given.args::jsonb from string_to_table($2::text, E'\x1e') as given (args)), $3::text[],
           case when $4::bigint[] is not null or $5::bigint[] is not null then
             array(select coalesce(timestamptz 'epoch' + t.run_at_us * interval '1 microsecond',
                                   now() + t.delay_ms * interval '1 millisecond')
                     from unnest($4::bigint[], $5::bigint[]) with ordinality as t (run_at_us, delay_ms, position)
                    order by t.position) end,
           $6::int[], $7::text[],
           case when $8::bigint[] is not null or $9::bigint[] is not null then
             array(select coalesce(timestamptz 'epoch' + t.expires_at_us * interval '1 microsecond',
                                   now() + t.expires_in_ms * interval '1 millisecond')
                     from unnest($8::bigint[], $9::bigint[]) with ordinality as t (expires_at_us, expires_in_ms, position)
                    order by t.position) end,
           $10::text[]))) as ids
