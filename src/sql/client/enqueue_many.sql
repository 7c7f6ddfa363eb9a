-- Enqueues from the C++ client, through the public SQL function.
-- $2: the args of the tasks as JSON, in their order, separated by U+001E and each parsed by itself
-- (docs/decisions/0004).
-- $4: microseconds since 1970; $5: a delay in milliseconds by the database's clock; a task has at most one of them. $8,
-- $9: the same for its expiry. $10: the text of an array of tags. $11: the parent; 0 means task $12 of installation
-- $13, whose handler enqueues. $14: the version of the args. $15, $16: the idempotency key, or null.
-- An array of only defaults is null; an array of one element applies to all tasks. Within an array a default is '' or
-- the least bigint, because with array_nulls off NULL is read as a text.
-- Each row: ids from `first` to `last`, in the order of the tasks.
select lower(ids) as first, upper(ids) - 1 as last
  from unnest(dogged.note_call(
         $15::uuid, $16::bigint,
         dogged.enqueue_many(
           $1::text[], array(select given.args::jsonb from string_to_table($2::text, E'\x1e') as given (args)), array_replace($3::text[], '', null),
           case when $4::bigint[] is not null or $5::bigint[] is not null then
             array(select coalesce(timestamptz 'epoch' + t.run_at_us * interval '1 microsecond',
                                   now() + t.delay_ms * interval '1 millisecond')
                     from unnest(array_replace($4::bigint[], '-9223372036854775808'::bigint, null), array_replace($5::bigint[], '-9223372036854775808'::bigint, null)) with ordinality as t (run_at_us, delay_ms, position)
                    order by t.position) end,
           $6::int[], array_replace($7::text[], '', null),
           case when $8::bigint[] is not null or $9::bigint[] is not null then
             array(select coalesce(timestamptz 'epoch' + t.expires_at_us * interval '1 microsecond',
                                   now() + t.expires_in_ms * interval '1 millisecond')
                     from unnest(array_replace($8::bigint[], '-9223372036854775808'::bigint, null), array_replace($9::bigint[], '-9223372036854775808'::bigint, null)) with ordinality as t (expires_at_us, expires_in_ms, position)
                    order by t.position) end,
           $10::text[],
           array_replace(array_replace($11::bigint[], '-9223372036854775808'::bigint, null), 0::bigint, dogged.parent_here($12::bigint, $13::uuid)),
           $14::int[]))) as ids
