-- The same for one task: its id is the only one in what note_call gives.
select lower(ids) as first, upper(ids) - 1 as last
  from (select dogged.note_call(
                 $11::uuid, $12::bigint,
                 array[dogged.enqueue(
                         $1::text, $2::jsonb, $3::text,
                         coalesce(timestamptz 'epoch' + $4::bigint * interval '1 microsecond',
                                  now() + $5::bigint * interval '1 millisecond'),
                         $6::int, $7::text,
                         coalesce(timestamptz 'epoch' + $8::bigint * interval '1 microsecond',
                                  now() + $9::bigint * interval '1 millisecond'),
                         $10::text[])]) as ids
         offset 0) as noted
